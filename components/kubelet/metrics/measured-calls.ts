import type { Clock } from "../../../pkg/clock/clock.ts"
import type { AroundCall } from "../runtime/runtime-calls.ts"
import type { KubeletMetrics } from "./kubelet-metrics.ts"

/** Returns what counts and times the calls of the container runtime, which are then made by `inner`. */
export const measuredCalls =
  (metrics: KubeletMetrics, clock: Clock, inner: AroundCall = (_call, run) => run()): AroundCall =>
  (call, run) => {
    const began = clock.monotonic()
    const ended = (failed: boolean) => metrics.calledRuntime(call.operation, failed, clock.monotonic() - began)
    const result = inner(call, run)
    // Calls of a runtime return promises; those that end at once have nothing to measure.
    if (result instanceof Promise)
      void result.then(
        () => ended(false),
        () => ended(true),
      )
    return result
  }
