/** What the kernel says about a process. Source: proc_pid_stat(5), and include/linux/sched.h for the flags. */
import { readdirSync, readFileSync } from "node:fs"

const PF_EXITING = 0x4
const PF_SIGNALED = 0x400
/** The bit of SIGKILL, signal 9, in a set of signals. */
const KILLED = 1n << 8n

/**
 * Returns when a process started, in clock ticks since boot, so that a later process with the same pid is not taken for
 * it; undefined when it does not exist. A process that has closed all files and only waits for its parent does not
 * exist any more: a parent that never asks would keep it for ever.
 */
export function startOf(pid: number): string | undefined {
  const fields = statOf(pid)
  return fields === undefined || isRemains(pid, fields) ? undefined : fields[START]
}

/** Whether a process is being ended by a signal, and so will close its files and ports by itself. */
export function isEnding(pid: number): boolean {
  const fields = statOf(pid)
  if (fields === undefined || isDead(fields)) return true
  if ((Number(fields[FLAGS]) & (PF_EXITING | PF_SIGNALED)) !== 0) return true
  const status = readOr(`/proc/${pid}/status`) ?? ""
  return [...status.matchAll(/^(?:Sig|Shd)Pnd:\s+([0-9a-f]+)$/gm)].some(
    ([, set]) => (BigInt(`0x${set}`) & KILLED) !== 0n,
  )
}

const [STATE, FLAGS, START] = [0, 6, 19]

/** Returns the fields behind the second one of /proc/<pid>/stat, which is a name in parentheses that may hold anything. */
const statOf = (pid: number): readonly string[] | undefined =>
  readOr(`/proc/${pid}/stat`)?.split(") ").at(-1)!.trim().split(" ")

const isDead = (fields: readonly string[]): boolean => fields[STATE] === "Z" || fields[STATE] === "X"

/** Whether nothing but the exit code is left. While other threads end, the files are open. */
function isRemains(pid: number, fields: readonly string[]): boolean {
  if (!isDead(fields)) return false
  try {
    return readdirSync(`/proc/${pid}/task`).length <= 1
  } catch {
    return true
  }
}

function readOr(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined // the process has ended
  }
}
