import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import type { Reason } from "../../../pkg/apimachinery/errors.ts"

/** Errors of test clusters show the line of the test that did it, not the depths where it was noticed. */

/**
 * Why a call of a test cluster failed: it was used wrongly (`Invalid`), what was awaited did not come in time, an
 * instant of virtual time did not end, the cluster had ended, or its end found something wrong. Where the API server
 * refused a manifest, its reason.
 */
export type TestClusterReason = Reason | "Invalid" | "Timeout" | "EndlessInstant" | "Stopped" | "UncleanEnd"

/**
 * A test cluster was used wrongly, or did not do what was expected of it. The message says what and, where there is
 * one, the mend.
 */
export class TestClusterError extends Error {
  override readonly name = "TestClusterError"
  /** For tests to match. */
  readonly reason: TestClusterReason

  constructor(message: string, { reason = "Invalid", ...options }: ErrorOptions & { reason?: TestClusterReason } = {}) {
    super(message, options)
    this.reason = reason
  }

  /** `err` itself where it is an Error. */
  static of(err: unknown): Error {
    return err instanceof Error ? err : new TestClusterError(String(err))
  }
}

/** Where in the test we are: call it first thing in a public method. */
export type Caller = { readonly stack: string }

/** The folder of this file, whose frames say nothing to a test. Its own tests lie there too. */
const OURS = dirname(fileURLToPath(import.meta.url))
const isOurs = (line: string): boolean => line.includes(OURS) && !line.includes(".test.ts")

/**
 * The stack without what this folder does. (The engine's way to leave out a function and all above it finds none where
 * the function's last call was this one.)
 */
export function callerOf(): Caller {
  const lines = (new Error().stack ?? "").split("\n").filter((line) => /^\s*at /.test(line))
  return { stack: lines.filter((line) => !isOurs(line)).join("\n") }
}

/** `err` with the stack of the caller; what is no Error becomes one. The old stack stays with the cause. */
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

/** What `work` gives; its error is shown at the caller. */
export async function from<T>(caller: Caller, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    throw at(caller, err)
  }
}
