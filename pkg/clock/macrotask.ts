/**
 * Macrotasks, one at a time: all promises that can run have run before the next begins.
 *
 * `setImmediate` alone promises that only while the runtime runs each callback by itself. Bun runs the asynchronous
 * matchers of `expect` and its `resolves` in an event loop of their own, which calls all immediates that are set before
 * it runs any promise. A virtual clock would take the first callback's promises for done, and move time too early. So
 * no two callbacks are ever set at the same time.
 */
const waiting: (() => void)[] = []

/** Runs `run` in a macrotask of its own, after those that were asked for before. */
export function inMacrotask(run: () => void): void {
  waiting.push(run)
  if (waiting.length === 1) setImmediate(runFirst)
}

/** Resolves when all promises that can run now have run. */
export const nextMacrotask = (): Promise<void> => new Promise((resolve) => inMacrotask(resolve))

function runFirst(): void {
  try {
    waiting[0]!()
  } finally {
    waiting.shift()
    if (waiting.length > 0) setImmediate(runFirst)
  }
}
