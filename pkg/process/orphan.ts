import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { basename } from "node:path"
import { sleep, type Clock } from "../clock/clock.ts"
import { startOf } from "./process-state.ts"

/** A program of which one process runs for each value of an argument, such as the path of its configuration. */
export interface OwnProgram {
  /** The name of the program's file, without its folder. */
  readonly program: string
  readonly argument: string
  /** How long the program may take to end after SIGTERM before it is killed, in milliseconds. */
  readonly stopMs: number
}

/**
 * Ends the process that an earlier k3ts left behind when it was killed. It is not reused, since its settings may be
 * old, and the system does not report the end of a process that is not a child. Resolves to its pid; undefined when
 * none runs.
 */
export async function endOrphan(own: OwnProgram, clock: Clock): Promise<number | undefined> {
  const pid = find(own)
  if (pid === undefined) return undefined
  const deadline = clock.monotonic() + own.stopMs
  signalIfThere(pid, "SIGTERM")
  const start = startOf(pid)
  // Its command line is gone before its files and ports are free.
  for (let killed = false; start !== undefined && startOf(pid) === start;) {
    if (!killed && clock.monotonic() > deadline) {
      signalIfThere(pid, "SIGKILL")
      killed = true
    }
    await sleep(clock, 10) // polled, because the end of a process that is not a child is not reported
  }
  return pid
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended by itself in the meantime.
  }
}

/** Finds the process by its command line. The pid in a pid file could belong to another process after a reboot. */
function find({ program: wanted, argument }: OwnProgram): number | undefined {
  for (const entry of processes()) {
    if (!isOfThisMachine(entry)) continue
    const [program, ...args] = commandLine(entry)
    if (program !== undefined && basename(program) === wanted && args.includes(argument)) return Number(entry)
  }
  return undefined
}

/** Returns the pids of all visible processes, also of those in containers. */
export const processes = (): readonly string[] => readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))

/**
 * Returns whether a process is in the PID namespace of this one. A k3ts in a container runs programs with the same
 * paths in their command lines; they are visible from outside and must be left alone.
 */
export function isOfThisMachine(pid: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) === readlinkSync("/proc/self/ns/pid")
  } catch {
    return false // The process has ended.
  }
}

/** Returns the command line of a process; empty for kernel threads, zombies and processes that have just ended. */
export function commandLine(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1)
  } catch {
    return []
  }
}
