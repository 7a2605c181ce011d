import type { Clock, Timer } from "../../../pkg/clock/clock.ts"

/** From how many runs of containers on the ends of a pod's containers are reported together, and how often. */
const MANY_CONTAINERS = 100
const MANY_REPORT_MS = 1000

/**
 * Reports the end of a container at once. A pod of very many reports several of them together, since each report takes
 * time for all containers: then returns the timer.
 */
export function reportEnd(clock: Clock, containers: number, report: () => void): Timer | undefined {
  if (containers >= MANY_CONTAINERS) return clock.setTimeout(report, MANY_REPORT_MS)
  report()
  return undefined
}
