import type { Clock, Timer } from "./clock.ts"

/** The longest delay of setTimeout, in milliseconds. The platform treats a longer delay as zero. */
const LONGEST = 2 ** 31 - 1

/** The system's time. */
export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Rounded up, because the platform rounds down, and a timer that ran early would find that it is not due.
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
  atRest: (run) => void setImmediate(run),
}
