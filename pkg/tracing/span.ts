import { errorMessage } from "../errors/error-message.ts"
import type { SpanContext } from "@opentelemetry/api"
import type { FinishedSpan, SpanEvent } from "./finished-span.ts"
import { cutText, MOST_ATTRIBUTES, MOST_EVENTS } from "./limits.ts"
import { SAMPLED } from "./traceparent.ts"
import type { Attributes, Kind, TraceSpan } from "./tracing.ts"

/** The data from which a span is made. */
export interface SpanParts {
  readonly context: SpanContext
  readonly parentSpanId: string | undefined
  readonly depth: number
  readonly name: string
  readonly kind: Kind
  readonly component: string
  readonly links: readonly SpanContext[]
  readonly attributes: Attributes
  /** The start, in milliseconds of the monotonic clock. */
  readonly began: number
}

/** What a span needs of its tracer. */
export interface SpanOwner {
  /** Milliseconds of the monotonic clock. */
  monotonic(): number
  /** Converts a time of the monotonic clock to milliseconds since the epoch. */
  epoch(monotonic: number): number
  finished(span: FinishedSpan): void
}

/** A span of a tracer. If it is sampled, the tracer is told when it ends. */
export class Span implements TraceSpan {
  readonly context: SpanContext
  readonly depth: number
  readonly isSampled: boolean
  hasEnded = false
  readonly #parts: SpanParts
  readonly #owner: SpanOwner
  #attributes: Record<string, string | number | boolean> | undefined
  #events: SpanEvent[] | undefined
  #failure: string | undefined

  constructor(parts: SpanParts, owner: SpanOwner) {
    this.context = parts.context
    this.depth = parts.depth
    this.isSampled = (parts.context.traceFlags & SAMPLED) === SAMPLED
    this.#parts = parts
    this.#owner = owner
    this.set(parts.attributes)
  }

  set(attributes: Attributes): void {
    if (!this.isSampled || this.hasEnded) return
    this.#attributes = merged(this.#attributes ?? {}, attributes)
  }

  event(name: string, attributes: Attributes = {}): void {
    if (!this.isSampled || this.hasEnded) return
    this.#events ??= []
    if (this.#events.length < MOST_EVENTS)
      this.#events.push({
        name,
        time: this.#owner.epoch(this.#owner.monotonic()),
        attributes: merged({}, attributes),
      })
  }

  fail(error: unknown): void {
    if (this.isSampled && !this.hasEnded) this.#failure ??= cutText(errorMessage(error))
  }

  end(): void {
    if (this.hasEnded) return
    this.hasEnded = true
    if (!this.isSampled) return
    const { context, parentSpanId, name, kind, component, links, began } = this.#parts
    this.#owner.finished({
      context,
      parentSpanId,
      name,
      kind,
      component,
      startTime: this.#owner.epoch(began),
      endTime: this.#owner.epoch(this.#owner.monotonic()),
      attributes: this.#attributes ?? {},
      events: this.#events ?? [],
      links,
      failure: this.#failure,
    })
  }
}

function merged(
  target: Record<string, string | number | boolean>,
  attributes: Attributes,
): Record<string, string | number | boolean> {
  let count = Object.keys(target).length
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined) continue
    if (!Object.hasOwn(target, key) && ++count > MOST_ATTRIBUTES) break
    target[key] = typeof value === "string" ? cutText(value) : value
  }
  return target
}
