import { allocate } from "./concurrency-allocation.ts"
import type { PriorityLevel } from "../priority-level.ts"

/**
 * Divides the server's seats among the priority levels by their recent demand: levels that need fewer seats than they
 * have lend some to levels that need more. Returns the fair fraction: the part of its target that each level gets when
 * none of its bounds applies. Source: updateBorrowingLocked in apiserver apf_controller.go. Differs from upstream: a
 * level whose seats would be rounded to 0 keeps one.
 */
export function adjustSeats(levels: readonly PriorityLevel[], now: number): number {
  let left = 0
  for (const { limits } of levels) left += limits!.nominal
  const sum = left
  const limited: PriorityLevel[] = []
  for (const level of levels) {
    level.demand.roll(now)
    if (level.isExempt) {
      // The exempt level takes what it needs; the other levels get the rest.
      level.target = level.current = Math.max(level.limits!.min, level.demand.figures.highWatermark)
      left -= level.current
    } else limited.push(level)
  }
  const least = limited.map(leastOf)
  const minSum = limited.reduce((total, { limits }) => total + limits!.min, 0)
  const leastSum = least.reduce((total, seats) => total + seats, 0)
  limited.forEach((level, i) => (level.target = Math.max(least[i]!, level.demand.figures.smoothed)))
  let fairProportion = 0
  if (left <= minSum) for (const level of limited) level.current = level.limits!.min
  else if (left <= leastSum) {
    const part = (left - minSum) / (leastSum - minSum)
    limited.forEach((level, i) => {
      const { min } = level.limits!
      level.current = min + Math.round((least[i]! - min) * part)
    })
  } else {
    const claims = limited.map(({ limits, target }, i) => ({ target, lowerBound: least[i]!, upperBound: limits!.max }))
    const allocation = allocate(sum, claims)
    // When the bounds allow no division, the seats stay as they are.
    allocation?.seats.forEach((seats, i) => (limited[i]!.current = Math.round(seats)))
    fairProportion = allocation?.fairProportion ?? 0
  }
  for (const level of levels) {
    if (level.current === 0 && level.shares > 0) level.current = 1
    level.queues.setLimit(level.current)
  }
  return fairProportion
}

/** Returns the least seats that a level keeps: as many of its own as it has used, and those that it does not lend. */
function leastOf({ limits, demand }: PriorityLevel): number {
  const { min, nominal } = limits!
  return Math.max(min, Math.min(nominal, demand.figures.highWatermark))
}
