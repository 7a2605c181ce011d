/**
 * Runs a step of one connection or request. When it throws, `close` ends that connection, and the error goes on to the
 * process, which contains it: nothing of what failed stays open.
 */
export function orClose<T>(close: () => void, run: () => T): T {
  try {
    return run()
  } catch (err) {
    close()
    throw err
  }
}
