import type { Clock, Timer } from "./clock.ts"

/** The longest delay that setTimeout keeps; it treats a longer one as zero. */
const LONGEST = 2 ** 31 - 1

/** The system's time. */
export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Rounded up, since the platform rounds down, and one that ran before its time would find it not come yet.
  setTimeout: (run, ms) => {
    let handle: ReturnType<typeof setTimeout>
    const arm = (left: number) => {
      handle =
        left > LONGEST ? setTimeout(() => arm(left - LONGEST), LONGEST) : setTimeout(run, Math.ceil(Math.max(0, left)))
    }
    arm(ms)
    return { cancel: () => clearTimeout(handle) } satisfies Timer
  },
  afterTurn: (run) => void setImmediate(run),
}
