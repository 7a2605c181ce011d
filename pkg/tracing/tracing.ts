import type { SpanContext } from "@opentelemetry/api"

/** Values of a span's attributes. They must not contain secrets: no bodies, no query strings, no commands. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** The role of a span in a call, by OpenTelemetry's terms; most are internal. */
export type Kind = "internal" | "server" | "client" | "consumer"

/** One timed operation. A span that is not sampled accepts all calls and records nothing. */
export interface TraceSpan {
  readonly context: SpanContext
  /** Whether the span will be exported. Attributes that are expensive to compute are computed only then. */
  readonly isSampled: boolean
  set(attributes: Attributes): void
  event(name: string, attributes?: Attributes): void
  /** Records why the operation failed. Only the first call counts. */
  fail(error: unknown): void
  /** Ends the span; later calls do nothing. */
  end(): void
}

/** The span that caused an operation of a later turn. The operation belongs to that span's trace. */
export interface Cause {
  readonly context: SpanContext
  /** The number of operations, each caused by the one before, between the root of the trace and the cause. */
  readonly depth: number
}

export interface SpanOptions {
  readonly kind?: Kind
  readonly attributes?: Attributes
  /** The start in milliseconds of the monotonic clock; by default now. */
  readonly began?: number
}

export interface RootOptions extends SpanOptions {
  /** The causes of the operation: the first becomes the parent of its span, the others become links. */
  readonly causes?: readonly Cause[]
  /** The span of another program, from its `traceparent` header: the parent if it is trusted, otherwise a link. */
  readonly remote?: { readonly context: SpanContext; readonly isTrusted: boolean }
}

/**
 * Traces operations of one component. Components have it in their context only when traces are on, so that without them
 * each traced place costs only a comparison.
 */
export interface Tracing {
  /** The span in which the calling code runs; undefined outside of spans, and after the span has ended. */
  active(): TraceSpan | undefined
  /** Starts a child of the active span; undefined when there is no active span, or it is not sampled. */
  start(name: string, options?: SpanOptions): TraceSpan | undefined
  /** Starts a span that does not belong to the active one: an operation that begins here. */
  root(name: string, options?: RootOptions): TraceSpan
  /** Calls `work` with `span` as the active span, which it stays in the asynchronous calls of `work`. */
  within<T>(span: TraceSpan, work: () => T): T
  /** Calls `work` outside of any span. */
  outside<T>(work: () => T): T
  /** Returns the active span as the cause of what is done later; undefined outside of spans. */
  cause(): Cause | undefined
  /** Returns the tracing of another component, whose spans show its name as the service. */
  of(component: string): Tracing
  /** The spans that wrote the newest revisions. */
  readonly causes: Causes
  /** Returns the `traceparent` header of the active span, for calls of other programs; undefined outside of spans. */
  traceparent(): string | undefined
}

/** Keeps which span wrote which revision, for operations that react to the write. */
export interface Causes {
  /** Records that `span` wrote the object at `revision`. */
  note(revision: number, span: TraceSpan): void
  /**
   * Returns the cause that wrote an object at this resourceVersion; undefined when that is long ago, or was not traced.
   */
  of(resourceVersion: string | undefined): Cause | undefined
}

/**
 * Calls `work` in a child of the active span, and ends the span when `work` has ended. Without tracing, and outside of
 * spans, only calls `work`.
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
  // The caller gets the promise itself: one that waits for it would come later, and tracing would change the order of
  // what happens.
  void result.then(
    () => span.end(),
    (err: unknown) => {
      span.fail(err)
      span.end()
    },
  )
  return result
}
