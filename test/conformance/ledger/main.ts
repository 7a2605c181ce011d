/**
 * `npm run conformance`: runs our tests for the entries of the conformance list, and prints which passed. Arguments
 * select entries: `npm run conformance -- sig-storage`, or `-- EmptyDir`.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readLedger } from "./ledger.ts"
import { outcomesOf, tableOf } from "./report.ts"

const ROOT = join(import.meta.dirname, "../../..")
const words = process.argv.slice(2)
const all = readLedger()
const entries = all.filter(({ codename }) => words.every((word) => codename.includes(word)))
const files = [...new Set(entries.flatMap(({ standIn }) => (standIn === undefined ? [] : [standIn.file])))].toSorted()
const patterns = words.length === 0 ? [] : ["-t", titlesOf()]

const folder = mkdtempSync(join(tmpdir(), "k3ts-conformance-"))
try {
  const report = join(folder, "report.xml")
  const arguments_ = ["test", "--timeout", "120000", "--reporter=junit", `--reporter-outfile=${report}`, ...patterns]
  const { status } = spawnSync(process.execPath, [...arguments_, ...files.map((file) => `./test/${file}`)], {
    cwd: ROOT,
    stdio: ["ignore", "inherit", "inherit"],
  })
  const outcomes = outcomesOf(readFileSync(report, "utf8"))
  console.log(tableOf(entries, outcomes))
  const failed = [...outcomes.values()].includes("failed")
  process.exitCode = failed || status !== 0 ? 1 : 0
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** A pattern for `bun test -t` that finds the tests of the entries and no others. */
function titlesOf(): string {
  const titles = new Set(entries.flatMap(({ standIn }) => (standIn === undefined ? [] : [standIn.title])))
  return [...titles].map((title) => `${title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}$`).join("|")
}
