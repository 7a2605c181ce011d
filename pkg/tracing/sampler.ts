import type { SpanContext } from "@opentelemetry/api"
import { SAMPLED } from "./traceparent.ts"

/** Decides which traces are recorded. A child span is recorded if its parent is. */
export interface Sampler {
  /** Returns whether to record a trace that begins here. */
  root(traceId: string): boolean
  /** Returns whether to record a trace that another program began. */
  remote(parent: SpanContext): boolean
}

/**
 * Samples the traces whose id, as a share of the largest possible id, is below `ratio`. Source: OpenTelemetry,
 * TraceIdRatioBased.
 */
const ratioBased =
  (ratio: number) =>
  (traceId: string): boolean =>
    // The upper eight bytes of an id are not random in every program, the lower ones are.
    ratio >= 1 || (ratio > 0 && Number.parseInt(traceId.slice(-13), 16) < ratio * 2 ** 52)

/**
 * Records this share (0 to 1) of the traces that begin here, and of the traces of other programs those that they
 * record.
 */
export const parentBased = (ratio: number): Sampler => ({
  root: ratioBased(ratio),
  remote: ({ traceFlags }) => (traceFlags & SAMPLED) === SAMPLED,
})

/** Records this share (0 to 1) of all traces, whatever other programs record. */
export function byRatio(ratio: number): Sampler {
  const root = ratioBased(ratio)
  return { root, remote: ({ traceId }) => root(traceId) }
}
