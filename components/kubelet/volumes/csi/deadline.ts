import type { Clock } from "../../../../pkg/clock/clock.ts"

/** How long a call of a driver may take. Source: csiTimeout in pkg/volume/csi. */
const CALL_MS = 120_000

/**
 * Calls a driver with a signal that aborts when `signal` does, or when the time of a call is over. @throws Error with
 * gRPC's words when it is
 */
export async function withDeadline<T>(
  clock: Clock,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const timer = clock.setTimeout(() => late.abort(new Error("the time of the call is over")), CALL_MS)
  try {
    return await call(AbortSignal.any([signal, late.signal]))
  } catch (err) {
    if (late.signal.aborted) throw new Error("rpc error: code = DeadlineExceeded desc = context deadline exceeded")
    throw err
  } finally {
    timer.cancel()
  }
}
