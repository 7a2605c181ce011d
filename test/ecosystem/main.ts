import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { attempt } from "./attempt.ts"
import { CACHE } from "./cache.ts"
import { command, Had } from "./origins/had.ts"
import type { Program } from "./program.ts"
import { PROGRAMS } from "./programs/programs.ts"
import { withVerdicts, type Verdict } from "./verdicts.ts"

/**
 * `npm run test:ecosystem [-- [--have] [--sources FOLDER] NAME…]` runs what people install on k3ts, unmodified: the programs of
 * programs/programs.ts by their names, by default all, one after the other, and writes the verdicts into
 * docs/ecosystem.md. Programs are had by the ordinary clients of their registries and kept in K3TS_ECOSYSTEM_CACHE, by
 * default ~/.cache/k3ts-ecosystem. FOLDER has checkouts, as `FOLDER/owner/name`, for those whose charts or manifests
 * are in no package; without it they are skipped. Nodes need root, and that no other node runs on this machine. With
 * `--have` the programs are only had: what runs later needs no registry.
 */
const PAGE = join(import.meta.dirname, "../../docs/ecosystem.md")

const { values, positionals } = parseArgs({
  options: { sources: { type: "string" }, have: { type: "boolean", default: false } },
  allowPositionals: true,
})
const unknown = positionals.filter((name) => !PROGRAMS.some((program) => program.name === name))
if (unknown.length > 0) {
  console.error(`error: ${unknown.join(", ")}: must be one of ${PROGRAMS.map(({ name }) => name).join(", ")}`)
  process.exit(2)
}
const failed: string[] = []
for (const program of PROGRAMS.filter(({ name }) => positionals.length === 0 || positionals.includes(name)))
  await judge(program)
if (failed.length > 0) console.error(`FAILED: ${failed.join(", ")}`)
process.exitCode = failed.length > 0 ? 1 : 0

async function judge(program: Program): Promise<void> {
  const { name } = program
  const lacking = lackOf(program)
  if (lacking !== undefined) return console.log(`${name}: SKIPPED: needs ${lacking}`)
  const began = performance.now()
  console.log(`${name}: ${program.shows}`)
  if (values.have) return have(program)
  let verdict = "runs"
  try {
    await attempt(program, values.sources)
    console.log(`${name}: runs, ${Math.round((performance.now() - began) / 1000)} s`)
  } catch (err) {
    failed.push(name)
    verdict = `fails: ${errorMessage(err).split("\n")[0]}`
    console.error(`${name}: FAILED: ${errorMessage(err)}`)
  }
  record({
    program: name,
    version: program.from[0].version,
    from: command(program.from[0]),
    shows: program.shows,
    on: program.on === "node" ? "a node" : "a simulated node",
    date: new Date().toISOString().slice(0, 10),
    verdict,
  })
}

async function have({ name, from }: Program): Promise<void> {
  await Had.of(from, CACHE).catch((err: unknown) => {
    failed.push(name)
    console.error(`${name}: FAILED: ${errorMessage(err)}`)
  })
}

/** What this machine, or the command line, lacks for a program. */
function lackOf({ on, checkouts = [] }: Program): string | undefined {
  if (on === "node" && process.getuid?.() !== 0) return "root"
  const absent = checkouts.filter((name) => !existsSync(join(values.sources ?? "", name)))
  return absent.length > 0 ? `--sources with ${absent.join(", ")}` : undefined
}

function record(verdict: Verdict): void {
  const page = withVerdicts(
    readFileSync(PAGE, "utf8"),
    [verdict],
    PROGRAMS.map(({ name }) => name),
  )
  writeFileSync(PAGE, page)
}
