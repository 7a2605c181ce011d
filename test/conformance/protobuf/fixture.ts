import { Buffer } from "node:buffer"
import { readFileSync, writeFileSync } from "node:fs"
import { gunzipSync, gzipSync } from "node:zlib"
import type { Outcome } from "./exchanges.ts"

/** The results of Kubernetes' own server, by the name of the base: `<apiVersion> <kind> <name>`. */
const FILE = new URL("answers.json.gz", import.meta.url)

interface Kept extends Omit<Outcome, "bytes"> {
  /** In base64. */
  readonly bytes: string
}

export function writeFixture(outcomes: ReadonlyMap<string, Outcome>): void {
  const kept = [...outcomes].map(([name, { bytes, ...rest }]): [string, Kept] => [
    name,
    { ...rest, bytes: Buffer.from(bytes).toString("base64") },
  ])
  writeFileSync(FILE, gzipSync(JSON.stringify(Object.fromEntries(kept)), { level: 9 }))
}

export function readFixture(): ReadonlyMap<string, Outcome> {
  const kept = JSON.parse(gunzipSync(readFileSync(FILE)).toString()) as Readonly<Record<string, Kept>>
  return new Map(
    Object.entries(kept).map(([name, { bytes, ...rest }]) => [name, { ...rest, bytes: Buffer.from(bytes, "base64") }]),
  )
}
