/**
 * What the check of one object by its schema may take. A definition may have thousands of alternatives, and an object
 * hundreds of thousands of items, and each is compared with each. Differs from upstream, which has no bound.
 */

/** The alternatives (anyOf, oneOf, allOf, not, objects of an enum) that are tried for one object: up to 300 ms. */
export const MOST_TRIES = 500_000
/** The faults that are looked for in one object; a response has only the first 1,000. */
const MOST_FAULTS = 10_000

class TooMuchWork extends Error {}

interface Work {
  tries: number
  faults: number
}

/** The work of the object that is checked. */
let current: Work = { tries: 0, faults: 0 }

/** Does work that calls `tries` and `faulty`. Returns undefined where it tries too many alternatives. */
export function withinBounds<T>(work: () => T): T | undefined {
  const before = current
  current = { tries: 0, faults: 0 }
  try {
    return work()
  } catch (err) {
    if (err instanceof TooMuchWork) return undefined
    throw err
  } finally {
    current = before
  }
}

/** Counts alternatives. Ends the work where there are too many. */
export function tries(count: number): void {
  current.tries += count
  if (current.tries > MOST_TRIES) throw new TooMuchWork()
}

/** Counts a fault. */
export const faulty = (): void => void current.faults++

/** Whether so many faults were found that no more are looked for. */
export const hasEnoughFaults = (): boolean => current.faults >= MOST_FAULTS
