import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import type { DayRecord } from "./lines.ts"

const PATH = join(import.meta.dirname, "recorded.json.gz")

/** Returns what was recorded of Kubernetes' own components. */
export const readRecorded = (): DayRecord => JSON.parse(gunzipSync(readFileSync(PATH)).toString()) as DayRecord

export const writeRecorded = ({ writes, refused, agents, owners }: DayRecord): void =>
  writeFileSync(PATH, gzipSync(JSON.stringify({ writes, refused, agents, owners }), { level: 9 }))
