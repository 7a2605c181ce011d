/** Errors of test clusters show the line of the test that did it, not the depths where it was noticed. */

/** A test cluster was used wrongly, or did not do what was expected of it. The message says what and, where there is one, the mend. */
export class TestClusterError extends Error {
  override readonly name = "TestClusterError"
}

/** Where in the test we are: call it first thing in a public method. */
export type Caller = { readonly stack?: string }

/** @param method the public method, which is left out of the stack */
export function callerOf(method: (...args: never[]) => unknown): Caller {
  const here: { stack?: string } = {}
  Error.captureStackTrace(here, method)
  return here
}

/** `err` with the stack of the caller; what is no Error becomes one. The old stack stays with the cause. */
export function at(caller: Caller, err: unknown): Error {
  const error = err instanceof Error ? err : new TestClusterError(String(err))
  const frames = (caller.stack ?? "")
    .split("\n")
    .filter((line) => /^\s*at /.test(line))
    .join("\n")
  if (frames !== "")
    Object.defineProperty(error, "stack", {
      value: `${error.name}: ${error.message}\n${frames}`,
      configurable: true,
      writable: true,
    })
  return error
}

/** What `work` gives; its error is shown at the caller. */
export async function from<T>(caller: Caller, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    throw at(caller, err)
  }
}
