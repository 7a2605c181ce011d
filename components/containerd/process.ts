import { spawn } from "node:child_process"
import { closeSync, openSync, readdirSync, readFileSync, renameSync, statSync } from "node:fs"
import { basename } from "node:path"
import { sleep, type Clock } from "../../pkg/clock/clock.ts"
import type { ContainerdPaths } from "./paths.ts"

/** A running containerd daemon. */
export interface ContainerdProcess {
  readonly pid: number
  /** Resolves when it has ended, with the reason in words. Never rejects. */
  readonly exited: Promise<string>
  /** The fault it names in its log, if any. */
  complaint(): string | undefined
  /** Ends the daemon; containers and their shims live on. */
  stop(clock: Clock): Promise<void>
}

/**
 * containerd ends in well under a second; what takes longer hangs. Within the five seconds in which k3ts itself should
 * end.
 */
const STOP_TIMEOUT_MS = 3000
const MAX_LOG_BYTES = 10 * 1024 * 1024

/** Starts the daemon in a process group of its own, so that Ctrl-C at k3ts is not also one at containerd. */
export function launchContainerd(paths: ContainerdPaths): ContainerdProcess {
  const logStart = rotatedLogSize(paths.log)
  const log = openSync(paths.log, "a", 0o640)
  const child = spawn("containerd", ["--config", paths.config], { detached: true, stdio: ["ignore", log, log] })
  closeSync(log)
  const exited = new Promise<string>((resolve) => {
    child.on("error", (err) => resolve(`containerd could not be run: ${err.message}`))
    child.on("exit", (code, signal) => {
      // One that was killed had no time to say why; what it complained of before is something else.
      const why = signal === null && code !== 0 ? complaintIn(paths.log, logStart) : undefined
      const end = signal === null ? `exited with code ${code}` : `was ended by ${signal}`
      resolve(`containerd ${end}${why === undefined ? "" : `: ${why}`}`)
    })
  })
  const { pid } = child
  return {
    pid: pid ?? 0,
    exited,
    complaint: () => complaintIn(paths.log, logStart),
    async stop(clock) {
      child.kill("SIGTERM")
      const timer = clock.setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS)
      await exited
      timer.cancel()
    },
  }
}

/**
 * Ends a daemon that an earlier k3ts started with this configuration and left behind when it was killed. It is not
 * taken over: its settings may be old, and a process that is not our child tells nobody when it ends. Its containers do
 * not notice.
 */
export async function endOrphan(paths: ContainerdPaths, clock: Clock): Promise<number | undefined> {
  const pid = findDaemon(paths.config)
  if (pid === undefined) return undefined
  const deadline = clock.monotonic() + STOP_TIMEOUT_MS
  signalIfThere(pid, "SIGTERM")
  for (let killed = false; findDaemon(paths.config) === pid;) {
    if (!killed && clock.monotonic() > deadline) {
      signalIfThere(pid, "SIGKILL")
      killed = true
    }
    await sleep(clock, 10) // it is not our child, so nothing tells of its end
  }
  return pid
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended by itself meanwhile.
  }
}

/** The process whose command line is ours. There is no pid file that could name a stranger. */
function findDaemon(config: string): number | undefined {
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue
    const [program, ...args] = commandLine(entry)
    if (program !== undefined && basename(program) === "containerd" && args.includes(config)) return Number(entry)
  }
  return undefined
}

/** Empty for kernel threads, zombies and processes that have just ended. */
export function commandLine(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1)
  } catch {
    return []
  }
}

/** Sets a log that has grown too long aside, one generation; returns the size of what is there now. */
function rotatedLogSize(path: string): number {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size < MAX_LOG_BYTES) return size
  renameSync(path, `${path}.1`)
  return 0
}

/**
 * The line in which a daemon names its fault: the last that is plain text (`containerd: …`) or fatal, else the first
 * plugin that did not load though it should, since those that build on it fail after it.
 */
function complaintIn(path: string, from: number): string | undefined {
  let text: string
  try {
    text = readFileSync(path).subarray(from).toString("utf8")
  } catch {
    return undefined
  }
  const lines = text.split("\n")
  const line =
    lines.findLast((line) => line.startsWith("containerd: ") || line.includes("level=fatal")) ??
    lines.find((line) => line.includes('level=warning msg="failed to load plugin'))
  if (line === undefined) return undefined
  const valueOf = (key: string) => new RegExp(`${key}="((?:[^"\\\\]|\\\\.)*)"`).exec(line)?.[1]?.replaceAll('\\"', '"')
  return [valueOf("msg") ?? line.replace(/^containerd: /, ""), valueOf("error")]
    .filter((part) => part !== undefined)
    .join(": ")
}
