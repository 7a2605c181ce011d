import type { SpanContext } from "@opentelemetry/api"
import { SAMPLED } from "./traceparent.ts"

/** Decides which traces are recorded. Children of a span are recorded as it is. */
export interface Sampler {
  /** Whether to record a trace that begins here. */
  root(traceId: string): boolean
  /** Whether to record what another program began. */
  remote(parent: SpanContext): boolean
}

/** Traces whose ids, taken as numbers, lie below this part of all. Source: OpenTelemetry, TraceIdRatioBased. */
const ratioBased =
  (ratio: number) =>
  (traceId: string): boolean =>
    // The upper eight bytes of the id are not random everywhere, the lower are.
    ratio >= 1 || (ratio > 0 && Number.parseInt(traceId.slice(-13), 16) < ratio * 2 ** 52)

/** Records this part of the traces that begin here (0 to 1), and of those of other programs what they record. */
export const parentBased = (ratio: number): Sampler => ({
  root: ratioBased(ratio),
  remote: ({ traceFlags }) => (traceFlags & SAMPLED) === SAMPLED,
})

/** Records this part of all traces, whatever other programs record. */
export function byRatio(ratio: number): Sampler {
  const root = ratioBased(ratio)
  return { root, remote: ({ traceId }) => root(traceId) }
}
