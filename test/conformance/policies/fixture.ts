import { readFileSync, writeFileSync } from "node:fs"
import { gunzipSync, gzipSync } from "node:zlib"
import type { PolicyAnswer } from "./answers.ts"

/** The answers of Kubernetes 1.36.2 to the cases, by title. */
const FILE = new URL("answers.json.gz", import.meta.url)

export const writeFixture = (answers: ReadonlyMap<string, PolicyAnswer>): void =>
  writeFileSync(FILE, gzipSync(JSON.stringify(Object.fromEntries(answers)), { level: 9 }))

export const readFixture = (): ReadonlyMap<string, PolicyAnswer> =>
  new Map(Object.entries(JSON.parse(gunzipSync(readFileSync(FILE)).toString()) as Record<string, PolicyAnswer>))
