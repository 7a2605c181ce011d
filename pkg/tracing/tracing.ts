import type { SpanContext } from "@opentelemetry/api"

/** Values of a span's attributes. They must hold no secrets: no bodies, no query strings, no commands. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** What a span is for the other side of a call, as OpenTelemetry has it; most are internal. */
export type Kind = "internal" | "server" | "client" | "consumer"

/** One timed operation. A span that is not sampled takes all calls and records nothing. */
export interface TraceSpan {
  readonly context: SpanContext
  /** Whether the span will be exported. Attributes that cost something are worked out only then. */
  readonly isSampled: boolean
  set(attributes: Attributes): void
  event(name: string, attributes?: Attributes): void
  /** Notes why the operation failed. The first failure counts. */
  fail(error: unknown): void
  /** Ends the span; later calls do nothing. */
  end(): void
}

/** Where an operation was caused: a span of another turn, by which the operation belongs to that span's trace. */
export interface Cause {
  readonly context: SpanContext
  /** How many operations, each caused by the one before, lie between the root of the trace and the cause. */
  readonly depth: number
}

export interface SpanOptions {
  readonly kind?: Kind
  readonly attributes?: Attributes
  /** Milliseconds of the monotonic clock; now unless given. */
  readonly began?: number
}

export interface RootOptions extends SpanOptions {
  /** What led to the operation: the first is the parent of its span, the others are links. */
  readonly causes?: readonly Cause[]
  /** The span of another program by its `traceparent` header, as the parent; or as a link, where it is not trusted. */
  readonly remote?: { readonly context: SpanContext; readonly isTrusted: boolean }
}

/**
 * Traces operations of one component. Components have it in their context only while traces are wanted, so that each
 * place that could trace costs a comparison otherwise.
 */
export interface Tracing {
  /** The span in which the calling code runs; undefined outside of spans, and after the span has ended. */
  active(): TraceSpan | undefined
  /** Starts a child of the active span; undefined where there is none, or none that is sampled. */
  start(name: string, options?: SpanOptions): TraceSpan | undefined
  /** Starts a span that does not belong to the active one: an operation that begins here. */
  root(name: string, options?: RootOptions): TraceSpan
  /** Calls `work` with `span` as the active span, also for what `work` awaits. */
  within<T>(span: TraceSpan, work: () => T): T
  /** Calls `work` outside of any span. */
  outside<T>(work: () => T): T
  /** Returns the active span as the cause of what is done later; undefined outside of spans. */
  cause(): Cause | undefined
  /** Returns the tracing of another component, whose spans show its name as the service. */
  of(component: string): Tracing
  /** Which span wrote which revision. */
  readonly causes: Causes
  /** The `traceparent` header of the active span for calls of other programs; undefined outside of spans. */
  traceparent(): string | undefined
}

/** Remembers which span wrote which revision, for those who react to it. */
export interface Causes {
  /** Notes that `span` wrote the object at `revision`. */
  note(revision: number, span: TraceSpan): void
  /** Returns who wrote an object at this resourceVersion; undefined when that is long ago, or was not traced. */
  of(resourceVersion: string | undefined): Cause | undefined
}

/**
 * Calls `work` in a child of the active span, and ends the span when `work` has. Without tracing, and outside of spans,
 * only calls `work`.
 */
export function traced<T>(tracing: Tracing | undefined, name: string, work: () => T, attributes?: Attributes): T {
  const span = tracing?.start(name, attributes === undefined ? undefined : { attributes })
  return span === undefined ? work() : endingWith(tracing!, span, work)
}

/** Calls `work` in `span`, and ends the span when `work` has returned, thrown, or its promise has settled. */
export function endingWith<T>(tracing: Tracing, span: TraceSpan, work: () => T): T {
  let result: T
  try {
    result = tracing.within(span, work)
  } catch (err) {
    span.fail(err)
    span.end()
    throw err
  }
  if (!(result instanceof Promise)) {
    span.end()
    return result
  }
  return result.then(
    (value: unknown) => {
      span.end()
      return value
    },
    (err: unknown) => {
      span.fail(err)
      span.end()
      throw err
    },
  ) as T
}
