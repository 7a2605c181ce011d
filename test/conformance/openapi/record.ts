/** Writes the digest of an OpenAPI v2 document, given as a file, for `openapi.test.ts`. */
import { readFileSync, writeFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { digestOf, type Document } from "./digest.ts"

const [file] = process.argv.slice(2)
if (file === undefined) {
  console.error("usage: bun test/conformance/openapi/record.ts FILE")
  process.exit(2)
}
const digest = digestOf(JSON.parse(readFileSync(file, "utf8")) as Document)
const lines = [...digest].map(([name, hash]) => `${name} ${hash}`).sort()
writeFileSync(new URL("digest.txt.gz", import.meta.url), gzipSync(lines.join("\n"), { level: 9 }))
