import { readdirSync, readFileSync } from "node:fs"

/**
 * Returns a clock of the processor time that a process has used since the last look at it, in microseconds. Of each
 * thread, since those are counted in nanoseconds, and the process as a whole in ticks of 10 ms only.
 */
export function cpuClock(pid: number): () => number {
  const seen = new Map<string, number>() // by thread; what ended threads used after the last look is lost
  return () => {
    let used = 0
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const total = nanosecondsOf(`/proc/${pid}/task/${thread}/schedstat`)
      if (total === undefined) continue
      used += total - (seen.get(thread) ?? 0)
      seen.set(thread, total)
    }
    return used / 1000
  }
}

/** Undefined where the thread has just ended. */
function nanosecondsOf(file: string): number | undefined {
  try {
    return Number(readFileSync(file, "utf8").split(" ", 1)[0])
  } catch {
    return undefined
  }
}
