import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import type { DayRecord } from "./lines.ts"

/** The days that were recorded: that of controllers, and that of the scheduler. */
export type DayName = "day" | "scheduling"

const FILES: Readonly<Record<DayName, string>> = { day: "recorded.json.gz", scheduling: "recorded-scheduling.json.gz" }
const pathOf = (day: DayName): string => join(import.meta.dirname, FILES[day])

/** Returns what was recorded of Kubernetes' own components. */
export const readRecorded = (day: DayName): DayRecord =>
  JSON.parse(gunzipSync(readFileSync(pathOf(day))).toString()) as DayRecord

export const writeRecorded = (day: DayName, { writes, refused, agents, owners, told }: DayRecord): void =>
  writeFileSync(pathOf(day), gzipSync(JSON.stringify({ writes, refused, agents, owners, told }), { level: 9 }))
