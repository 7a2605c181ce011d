/** Runs one part. */
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Subprocess } from "bun"
import type { Outcome, Part } from "./part.ts"
import { type Summary, summaryOf } from "./summary.ts"

/** Seconds from SIGTERM, on which tests remove what they have set up, to SIGKILL. */
const GRACE = 10

/** The parts that run, for the case that a signal ends all. */
const running = new Set<Subprocess>()

/** Ends all parts that run. */
export function endParts(): void {
  for (const child of running) signal(child, "SIGTERM")
}

/** Runs a part, and calls `onOutput` with what it writes as it writes it. `env` is added to the environment. */
export async function runPart(
  root: string,
  part: Part,
  options: readonly string[],
  onOutput: (text: string) => void,
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "k3ts-tests-"))
  const [log, timings] = [join(folder, "log"), join(folder, "timings.json")]
  // Into a file, not a pipe: a process that a test left behind would hold the pipe open, and us with it.
  const file = openSync(log, "w")
  const began = performance.now()
  const args = ["test", ...options, "--timeout", String(part.timeout), `--timings=${timings}`, "--update-timings"]
  // A process group of its own, so that the servers of its tests end with it.
  const child = Bun.spawn([process.execPath, ...args, ...part.paths], {
    cwd: root,
    stdio: ["ignore", file, file],
    detached: true,
    // Test clusters freeze all that they store, not only what they give to tests: a component of ours that changes a
    // shared object fails where it does so.
    env: { ...process.env, K3TS_FROZEN: "all", ...env },
  })
  closeSync(file)
  running.add(child)
  let shown = 0
  const show = () => {
    const text = readFileSync(log, "utf8")
    if (text.length > shown) onOutput(text.slice(shown))
    shown = text.length
  }
  let tooLong = false
  const timer = setInterval(() => {
    show()
    if (tooLong || (performance.now() - began) / 1000 - secondsWithoutProcessor(child) < part.limit) return
    tooLong = true
    signal(child, "SIGTERM")
    setTimeout(() => signal(child, "SIGKILL"), GRACE * 1000).unref()
  }, 200)
  await child.exited
  clearInterval(timer)
  running.delete(child)
  show()
  const output = readFileSync(log, "utf8")
  const files = existsSync(timings)
    ? (JSON.parse(readFileSync(timings, "utf8")) as { readonly files: Record<string, number> }).files
    : {}
  rmSync(folder, { recursive: true, force: true })
  const counts = summaryOf(output)
  return {
    ...counts,
    faults: faultsOf(part, counts, child.exitCode, tooLong),
    files,
    output,
    seconds: (performance.now() - began) / 1000,
    processorSeconds: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6,
  }
}

function faultsOf(
  { name, limit }: Part,
  { passed, failed, skipped }: Summary,
  code: number | null,
  tooLong: boolean,
): readonly string[] {
  if (tooLong) return [`${name} did not end within ${limit} s`]
  if (code !== 0 && failed === 0)
    return [
      `${name} ended with ${code === null ? "a signal" : `exit code ${code}`}, though no test says that it failed`,
    ]
  return passed + failed + skipped === 0 ? [`${name} ran no test`] : []
}

/**
 * The seconds for which the main thread of a part was ready to run and waited for a processor: on a busy machine they
 * are not its own. 0 where /proc does not say. Source: Documentation/scheduler/sched-stats.rst of Linux.
 */
function secondsWithoutProcessor({ pid }: Subprocess): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1] ?? 0) / 1e9
  } catch {
    return 0
  }
}

/** Sends a signal to a part and its processes. */
function signal({ pid, exitCode, signalCode }: Subprocess, name: NodeJS.Signals): void {
  if (exitCode !== null || signalCode !== null) return
  try {
    process.kill(-pid, name)
  } catch {
    // It has just ended.
  }
}
