import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import type { Reason } from "../../../pkg/apimachinery/errors.ts"

/** Shows errors of test clusters at the test's line that caused them, instead of where they were detected. */

/**
 * Why a call of a test cluster failed: wrong use (`Invalid`), a wait that took too long, an instant of virtual time
 * that does not end, a cluster that was stopped, or a fault found when it stopped. If the API server refused a
 * manifest, its reason.
 */
export type TestClusterReason = Reason | "Invalid" | "Timeout" | "EndlessInstant" | "Stopped" | "UncleanEnd"

/**
 * A test cluster was used wrongly, or did not do what was expected. The message says what and, if possible, what to
 * change.
 */
export class TestClusterError extends Error {
  override readonly name = "TestClusterError"
  /** For tests to match. */
  readonly reason: TestClusterReason

  constructor(message: string, { reason = "Invalid", ...options }: ErrorOptions & { reason?: TestClusterReason } = {}) {
    super(message, options)
    this.reason = reason
  }

  /** Returns `err` itself when it is an Error. */
  static of(err: unknown): Error {
    return err instanceof Error ? err : new TestClusterError(String(err))
  }
}

/** The position in the test; must be taken first in a public method. */
export type Caller = { readonly stack: string }

/** The folder of this file, whose stack frames are of no use to a test. Its own tests are also here. */
const OURS = dirname(fileURLToPath(import.meta.url))
const isOurs = (line: string): boolean => line.includes(OURS) && !line.includes(".test.ts")

/**
 * Returns the stack without the frames of this folder. Error.captureStackTrace is not used to leave frames out, since
 * it finds none when the function that it looks for ended with a tail call.
 */
export function callerOf(): Caller {
  const lines = (new Error().stack ?? "").split("\n").filter((line) => /^\s*at /.test(line))
  return { stack: lines.filter((line) => !isOurs(line)).join("\n") }
}

/**
 * Returns `err` with the stack of the caller; other values are wrapped in an Error. The old stack stays with the cause.
 */
export function at(caller: Caller, err: unknown): Error {
  const error = TestClusterError.of(err)
  const frames = caller.stack
  if (frames !== "")
    Object.defineProperty(error, "stack", {
      value: `${error.name}: ${error.message}\n${frames}`,
      configurable: true,
      writable: true,
    })
  return error
}

/** Returns the result of `work`; its error shows the caller's line. */
export async function from<T>(caller: Caller, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    throw at(caller, err)
  }
}
