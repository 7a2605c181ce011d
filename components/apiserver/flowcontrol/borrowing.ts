import { allocate } from "./concurrency-allocation.ts"
import type { PriorityLevel } from "./priority-level.ts"

/**
 * Divides the seats of the server anew among the priority levels, by what they have asked for of late: those that need
 * fewer than they have lend some to those that need more. Returns what part of its target a level gets that meets no
 * bound. Source: updateBorrowingLocked in apiserver apf_controller.go. Differs from upstream: a level with a share
 * keeps a seat, where it has none on a server with few, until somebody has waited for some seconds.
 */
export function adjustSeats(levels: readonly PriorityLevel[], now: number): number {
  let left = 0
  for (const { limits } of levels) left += limits!.nominal
  const sum = left
  const limited: PriorityLevel[] = []
  for (const level of levels) {
    level.demand.roll(now)
    if (level.isExempt) {
      // It takes what it needs, and the others have the rest.
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
    // Bounds that leave no division leave the seats as they are.
    allocation?.seats.forEach((seats, i) => (limited[i]!.current = Math.round(seats)))
    fairProportion = allocation?.fairProportion ?? 0
  }
  for (const level of levels) {
    if (level.current === 0 && level.shares > 0) level.current = 1
    level.queues.setLimit(level.current)
  }
  return fairProportion
}

/** What a level keeps: as many seats as it has used of its own, and those that it does not lend. */
function leastOf({ limits, demand }: PriorityLevel): number {
  const { min, nominal } = limits!
  return Math.max(min, Math.min(nominal, demand.figures.highWatermark))
}
