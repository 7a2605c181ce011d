/**
 * Writes the digests for `openapi.test.ts`: of the OpenAPI v2 document that is given as a file, or with `--v3` of the
 * documents of v3, one JSON object with each under its path below `/openapi/v3`.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { digestOf, digestOfV3, type Document, type DocumentsV3 } from "./digest.ts"

const [file, ...before] = process.argv.slice(2).toReversed()
if (file === undefined) {
  console.error("usage: bun test/conformance/openapi/record.ts [--v3] FILE")
  process.exit(2)
}
const isV3 = before.includes("--v3")
const read: unknown = JSON.parse(readFileSync(file, "utf8"))
const digest = isV3 ? digestOfV3(read as DocumentsV3) : digestOf(read as Document)
const lines = [...digest].map(([name, hash]) => `${name} ${hash}`).sort()
writeFileSync(
  new URL(isV3 ? "digest-v3.txt.gz" : "digest.txt.gz", import.meta.url),
  gzipSync(lines.join("\n"), { level: 9 }),
)
