/**
 * An error after which the process must end: what it has in memory may differ from what its store has on the disk or in
 * the shared log, so that it would answer with, or build on, what was never written. No seam contains it.
 */
export class FatalError extends Error {
  override readonly name = "FatalError"
}
