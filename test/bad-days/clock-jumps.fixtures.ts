/** Preloaded into a server: each SIGUSR2 sets its wall clock to the next of `JUMPS`, as a time server or root would. */

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** How far the server's clock is ahead of this machine's after each jump, in milliseconds. */
export const JUMPS = [HOUR_MS, -HOUR_MS, 3 * DAY_MS, -3 * DAY_MS, 40 * DAY_MS, 0] as const

const now = Date.now
let next = 0
process.on("SIGUSR2", () => {
  const ahead = JUMPS[next++] ?? 0
  Date.now = () => now() + ahead
})
