/**
 * Writes the table of docs/compatibility.md: puts the recorded cases of test/conformance/validation to the API server,
 * and counts on how many it agrees with
 * Kubernetes. With `--differences` it prints every case on which it does not.
 *
 *     bun hack/compare/compatibility.ts [--differences]
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { serverInProcess } from "../../test/conformance/validation/in-process.ts"
import { compareWithRecorded, tableOf } from "../../test/conformance/validation/summary.ts"

const PAGE = join(import.meta.dirname, "../../docs/compatibility.md")
const TABLE = /\| kind \|[^]*?\| all \|.*\|/

const abort = new AbortController()
const { counts, differences } = await compareWithRecorded(await serverInProcess(abort.signal))
abort.abort()
if (process.argv.includes("--differences"))
  for (const { title, wants, found } of differences) console.log(`${title}\n  wants ${wants}\n  found ${found}`)
writeFileSync(
  PAGE,
  readFileSync(PAGE, "utf8").replace(TABLE, () => tableOf(counts)),
)
console.log(`${differences.length} differences in ${counts.reduce((sum, { cases }) => sum + cases, 0)} cases`)
process.exit(0)
