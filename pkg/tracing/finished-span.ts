import type { SpanContext } from "@opentelemetry/api"
import type { Attributes, Kind } from "./tracing.ts"

/** A span that has ended, as it is exported. Times are milliseconds since the epoch, with fractions. */
export interface FinishedSpan {
  readonly context: SpanContext
  /** The span id of the parent; undefined for the root of a trace. */
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: Kind
  /** The component that did the operation, such as `kubelet`. */
  readonly component: string
  readonly startTime: number
  readonly endTime: number
  readonly attributes: Attributes
  readonly events: readonly SpanEvent[]
  readonly links: readonly SpanContext[]
  /** Why the operation failed; undefined when it succeeded. */
  readonly failure: string | undefined
}

export interface SpanEvent {
  readonly name: string
  readonly time: number
  readonly attributes: Attributes
}

/** Receives sampled spans when they end. Must neither throw nor wait. */
export type SpanSink = (span: FinishedSpan) => void
