import type { Clock } from "../../../pkg/clock/clock.ts"
import { realClock } from "../../../pkg/clock/real.ts"

/** A clock whose time the test advances, while turns of the event loop are real. */
export function handClock() {
  let now = 0
  const timers = new Set<{ at: number; run: () => void }>()
  const clock: Clock = {
    ...realClock,
    now: () => now,
    monotonic: () => now,
    setTimeout(run, ms) {
      const timer = { at: now + ms, run }
      timers.add(timer)
      return { cancel: () => void timers.delete(timer) }
    },
  }
  const pass = (ms: number) => {
    for (const end = now + ms; ;) {
      const next = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) return void (now = end)
      timers.delete(next)
      now = next.at
      next.run()
    }
  }
  return { clock, pass, timers }
}
