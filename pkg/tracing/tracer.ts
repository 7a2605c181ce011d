import { AsyncLocalStorage } from "node:async_hooks"
import type { SpanContext } from "@opentelemetry/api"
import type { Clock } from "../clock/clock.ts"
import type { Random } from "../clock/random.ts"
import { RecentCauses } from "./causes.ts"
import type { SpanSink } from "./finished-span.ts"
import { MOST_LINKS } from "./limits.ts"
import type { Sampler } from "./sampler.ts"
import { Span, type SpanOwner } from "./span.ts"
import { formatTraceparent, SAMPLED } from "./traceparent.ts"
import type { Cause, Causes, RootOptions, SpanOptions, TraceSpan, Tracing } from "./tracing.ts"

export interface TracerOptions {
  readonly clock: Clock
  /** The source of the ids of traces and spans. */
  readonly random: Random
  readonly sampler: Sampler
  readonly sink: SpanSink
}

/** How far the system's time and the monotonic clock may drift apart before spans use the new time, in milliseconds. */
const MOST_DRIFT_MS = 20

/**
 * Returns the tracing of one program. This is not OpenTelemetry's SDK, because that takes times, timers and ids from
 * globals, which a virtual clock cannot control, and keeps the active span in a global.
 */
export function createTracer({ clock, random, sampler, sink }: TracerOptions): Tracing {
  const active = new AsyncLocalStorage<Span | undefined>()
  const causes = new RecentCauses(clock, (span) => (span instanceof Span ? span.depth : 0))
  let epochOfZero = clock.now() - clock.monotonic()
  const owner: SpanOwner = {
    monotonic: () => clock.monotonic(),
    epoch: (monotonic) => epochOfZero + monotonic,
    finished: sink,
  }
  const common = { active, causes, clock, random, sampler, owner }
  return new ComponentTracing("k3ts", {
    ...common,
    compareClocks() {
      const offset = clock.now() - clock.monotonic()
      if (Math.abs(offset - epochOfZero) > MOST_DRIFT_MS) epochOfZero = offset
    },
  })
}

interface Common {
  readonly active: AsyncLocalStorage<Span | undefined>
  readonly causes: Causes
  readonly clock: Clock
  readonly random: Random
  readonly sampler: Sampler
  readonly owner: SpanOwner
  /** Corrects the epoch of spans if the system's time was set. Called where a trace begins, and not within it. */
  compareClocks(): void
}

class ComponentTracing implements Tracing {
  readonly #component: string
  readonly #common: Common

  constructor(component: string, common: Common) {
    this.#component = component
    this.#common = common
  }

  get causes(): Causes {
    return this.#common.causes
  }

  active(): Span | undefined {
    const span = this.#common.active.getStore()
    return span?.hasEnded === true ? undefined : span
  }

  start(name: string, options: SpanOptions = {}): TraceSpan | undefined {
    const parent = this.active()
    return parent?.isSampled === true ? this.#make(name, options, parent, []) : undefined
  }

  root(name: string, options: RootOptions = {}): TraceSpan {
    const { remote, causes = [] } = options
    this.#common.compareClocks()
    const [first, ...others] = causes
    const links = others.slice(0, MOST_LINKS).map(({ context }) => context)
    if (first !== undefined) return this.#make(name, options, first, links)
    if (remote === undefined) return this.#make(name, options, undefined, [])
    if (!remote.isTrusted) return this.#make(name, options, undefined, [remote.context])
    const traceFlags = this.#common.sampler.remote(remote.context) ? SAMPLED : 0
    return this.#make(name, options, { context: { ...remote.context, traceFlags }, depth: 0 }, [])
  }

  within<T>(span: TraceSpan, work: () => T): T {
    return this.#common.active.run(span as Span, work)
  }

  outside<T>(work: () => T): T {
    return this.#common.active.run(undefined, work)
  }

  cause(): Cause | undefined {
    const span = this.active()
    return span === undefined ? undefined : { context: span.context, depth: span.depth }
  }

  of(component: string): Tracing {
    return new ComponentTracing(component, this.#common)
  }

  traceparent(): string | undefined {
    const span = this.active()
    return span === undefined ? undefined : formatTraceparent(span.context)
  }

  #make(
    name: string,
    { kind = "internal", attributes = {}, began = this.#common.clock.monotonic() }: SpanOptions,
    parent: { readonly context: SpanContext; readonly depth: number } | undefined,
    links: readonly SpanContext[],
  ): Span {
    const { random, sampler, owner } = this.#common
    const traceId = parent?.context.traceId ?? hex(random.bytes(16))
    const traceFlags = parent?.context.traceFlags ?? (sampler.root(traceId) ? SAMPLED : 0)
    return new Span(
      {
        context: { traceId, spanId: hex(random.bytes(8)), traceFlags },
        parentSpanId: parent?.context.spanId,
        depth: parent?.depth ?? 0,
        name,
        kind,
        component: this.#component,
        links,
        attributes,
        began,
      },
      owner,
    )
  }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")
