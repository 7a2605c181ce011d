/** Time limits that a busy machine does not use up: what a process spends in the queue for a processor is not its own. */
import { readFileSync } from "node:fs"

const LOOK_EVERY_MS = 50

/**
 * Returns the milliseconds for which the main thread of a process was ready to run and waited for a processor, since it
 * started; undefined where /proc does not say, such as for a process that has ended. Source:
 * Documentation/scheduler/sched-stats.rst of Linux.
 */
export function waitedMs(pid: number): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1] ?? 0) / 1e6
  } catch {
    return undefined
  }
}

/** Measures the own time of a process, in milliseconds, from now until `read` is called or the process ends. */
export function ownTime(pid: number): { readonly read: () => number } {
  const from = performance.now()
  const waitedBefore = waitedMs(pid) ?? 0
  let waited = 0
  const look = () => {
    const now = waitedMs(pid)
    if (now !== undefined) waited = now - waitedBefore
  }
  // A process that has ended no longer tells.
  const timer = setInterval(look, LOOK_EVERY_MS)
  return {
    read() {
      clearInterval(timer)
      look()
      return performance.now() - from - waited
    },
  }
}

/** Calls `onOver` when a process has had `limitMs` of its own time. Returns what cancels that. */
export function afterOwnTime(pid: number, limitMs: number, onOver: () => void): () => void {
  const from = performance.now()
  const waitedBefore = waitedMs(pid) ?? 0
  let timer: ReturnType<typeof setTimeout>
  const look = () => {
    const left = limitMs - (performance.now() - from) + ((waitedMs(pid) ?? waitedBefore) - waitedBefore)
    if (left <= 0) onOver()
    else timer = setTimeout(look, left)
  }
  timer = setTimeout(look, limitMs)
  return () => clearTimeout(timer)
}
