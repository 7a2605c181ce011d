/**
 * Runs the tests of `npm test`, which hack/test.sh sets up. Without arguments it runs all, tells only failures one by
 * one, and tries files that failed beside others once more, alone (second-try.ts). With paths it runs what is below
 * them, once. `--slowest` lists the files that took longest. `--lanes=N` says how many parts run at a time, by default
 * one more than there are processors; `--patience=N` multiplies the time limits. What failed is told again at the end.
 * The last line is always `N passed, N failed`, with `, N skipped` where some were.
 */
import { spawnSync } from "node:child_process"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { lanesFor, runInLanes } from "./lanes.ts"
import type { Part } from "./part.ts"
import { everyPart, filesOf, leftOutOf, partsOf } from "./parts.ts"
import { endParts, runPart } from "./run-part.ts"
import { type FailedFile, failedFilesOf, passedAlone } from "./second-try.ts"
import type { Failure } from "./summary.ts"

const ROOT = join(import.meta.dirname, "../..")
const SLOWEST = 30

const options = process.argv.slice(2).filter((word) => word.startsWith("--"))
const paths = process.argv.slice(2).filter((word) => !word.startsWith("--"))
const valueOf = (name: string) => options.find((option) => option.startsWith(`${name}=`))?.slice(name.length + 1)
const lanes = Math.max(1, Number(valueOf("--lanes") ?? lanesFor(availableParallelism())))
const patience = Number(valueOf("--patience") ?? 1)

let passed = 0
let skipped = 0
// .ci/run counts a failed check among the failures, so that the last line tells the whole truth.
let failed = process.env["K3TS_FAILED_BEFORE"] ? 1 : 0
const files: (readonly [path: string, milliseconds: number])[] = []
/** Every failure in a line, told again at the end: of a long output often only the end is kept. */
let failures: string[] = failed > 0 ? ["npm run check"] : []
const failedFiles: FailedFile[] = []

const say = (text: string) => process.stdout.write(text)

/** Counts a failure that is not a test's own. */
function countFailure(what: string): void {
  failed++
  failures.push(what)
  say(`FAILED: ${what}\n`)
}

const lineOf = ({ name }: Part, { file, title }: Failure) => `${file ?? name}: ${title}`

/** Tries once more what failed, counts what passed then, and tells of it. */
async function tryAgain(): Promise<void> {
  const passedNow = await passedAlone(failedFiles, (part, seed) => {
    say(`\n==> Trying ${part.name} again, alone\n`)
    return runPart(ROOT, part, [], say, seed === undefined ? {} : { K3TS_SEED: seed })
  })
  const lines = passedNow.flatMap(({ part, failures }) => failures.map((failure) => lineOf(part, failure)))
  if (lines.length === 0) return
  passed += lines.length
  failed -= lines.length
  failures = failures.filter((line) => !lines.includes(line))
  say(`\n==> What failed beside other parts, and passed alone\n${lines.map((line) => `  ${line}\n`).join("")}`)
}

async function finish(): Promise<never> {
  if (options.includes("--slowest")) {
    say(`\n==> The ${SLOWEST} slowest files, in seconds\n`)
    for (const [path, ms] of files.toSorted((a, b) => b[1] - a[1]).slice(0, SLOWEST))
      say(`${(ms / 1000).toFixed(1).padStart(7)} ${path}\n`)
  }
  if (failures.length > 0) say(`\n==> What failed\n${failures.map((line) => `  ${line}\n`).join("")}`)
  const last = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`
  // What a slow reader of a pipe has not taken yet would be lost with the process.
  await new Promise<void>((resolve) => process.stdout.write(last, () => resolve()))
  process.exit(failed > 0 || passed === 0 ? 1 : 0)
}

let built: boolean | undefined
function buildOnce(): boolean {
  if (built !== undefined) return built
  built = spawnSync("bash", ["hack/build.sh"], { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] }).status === 0
  if (!built) countFailure("dist/k3ts does not build")
  return built
}

async function run(part: Part): Promise<void> {
  const { name } = part
  if (part.needsRoot && process.getuid?.() !== 0) {
    const count = filesOf(ROOT, part)
    say(`\n!!! SKIPPED: ${name} (${count} files) needs root and containerd. Run: sudo npm test\n`)
    skipped += count
    return
  }
  if (part.needsBuild && !buildOnce()) return
  // With several lanes a part is shown when it has ended, so that their outputs are not mixed.
  const live = lanes === 1 || parts.length === 1
  if (live) say(`\n==> Testing ${name}\n`)
  const bunOptions = [
    ...(paths.length === 0 ? ["--only-failures"] : []),
    ...leftOutOf(part).map((path) => `--path-ignore-patterns=${path}`),
  ]
  const outcome = await runPart(ROOT, part, bunOptions, live ? say : () => undefined)
  if (!live) say(`\n==> Testing ${name}\n${outcome.output}`)
  passed += outcome.passed
  failed += outcome.failed
  skipped += outcome.skipped
  files.push(...Object.entries(outcome.files))
  failedFiles.push(...failedFilesOf(part, outcome))
  failures.push(...outcome.failures.map((failure) => lineOf(part, failure)))
  outcome.faults.forEach(countFailure)
  say(
    `==> ${name}: ${outcome.passed} passed, ${outcome.failed} failed, ${outcome.skipped} skipped in ` +
      `${Math.round(outcome.seconds)} s (${Math.round(outcome.processorSeconds)} s of the processor's)\n`,
  )
}

for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.once(name, () => {
    endParts()
    countFailure("stopped by a signal")
    void finish()
  })

const parts = (paths.length === 0 ? everyPart(ROOT) : paths.flatMap((path) => partsOf(ROOT, path))).map((part) => ({
  ...part,
  timeout: part.timeout * patience,
  limit: part.limit * patience,
}))
await runInLanes(parts, lanes, run)
if (paths.length === 0) await tryAgain()
await finish()
