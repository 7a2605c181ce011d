import { readFileSync, writeFileSync } from "node:fs"
import { gunzipSync, gzipSync } from "node:zlib"
import type { Answered } from "./answers.ts"

/** The answers of Kubernetes 1.36.2 to the requests, by title. */
const FILE = new URL("answers.json.gz", import.meta.url)

export const writeFixture = (answers: ReadonlyMap<string, Answered>): void =>
  writeFileSync(FILE, gzipSync(JSON.stringify(Object.fromEntries(answers)), { level: 9 }))

export const readFixture = (): ReadonlyMap<string, Answered> =>
  new Map(Object.entries(JSON.parse(gunzipSync(readFileSync(FILE)).toString()) as Record<string, Answered>))
