import { spawn } from "node:child_process"
import { closeSync, openSync, readFileSync, renameSync, statSync } from "node:fs"
import type { Clock } from "../../pkg/clock/clock.ts"
import { endOrphan } from "../../pkg/process/orphan.ts"
import type { ContainerdPaths } from "./paths.ts"

/** A running containerd daemon. */
export interface ContainerdProcess {
  readonly pid: number
  /** Resolves when the daemon has ended, with the reason. Never rejects. */
  readonly exited: Promise<string>
  /** Returns the error that the daemon's log shows, if any. */
  complaint(): string | undefined
  /** Ends the daemon; containers and their shims keep running. */
  stop(clock: Clock): Promise<void>
}

/**
 * How long to wait before SIGKILL. containerd ends in well under a second unless it hangs; k3ts itself must end within
 * five seconds.
 */
const STOP_TIMEOUT_MS = 3000
const MAX_LOG_BYTES = 10 * 1024 * 1024

/** Starts the daemon in its own process group, so that Ctrl-C in the terminal of k3ts does not reach it. */
export function launchContainerd(paths: ContainerdPaths): ContainerdProcess {
  const logStart = rotatedLogSize(paths.log)
  const log = openSync(paths.log, "a", 0o640)
  const child = spawn("containerd", ["--config", paths.config], { detached: true, stdio: ["ignore", log, log] })
  closeSync(log)
  const exited = new Promise<string>((resolve) => {
    child.on("error", (err) => resolve(`containerd could not be run: ${err.message}`))
    child.on("exit", (code, signal) => {
      // A daemon that was killed had no time to write its reason; earlier errors in its log have nothing to do with it.
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

/** Ends a daemon of this configuration that an earlier k3ts left behind. Its containers are not affected. */
export const endOrphanedDaemon = ({ config }: ContainerdPaths, clock: Clock): Promise<number | undefined> =>
  endOrphan({ program: "containerd", argument: config, stopMs: STOP_TIMEOUT_MS }, clock)

/** Renames a log that is too long (one generation is kept). Returns the size of the current log. */
function rotatedLogSize(path: string): number {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size < MAX_LOG_BYTES) return size
  renameSync(path, `${path}.1`)
  return 0
}

/**
 * Returns the line in which the daemon names its error: the last one that is plain text (`containerd: …`) or fatal,
 * else the first plugin that failed to load, since plugins that depend on it fail after it.
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
