import type { Clock } from "../../../../pkg/clock/clock.ts"
import { seededRandom } from "../../../../pkg/clock/random.ts"
import type { FinishedSpan } from "../../../../pkg/tracing/finished-span.ts"
import { parentBased } from "../../../../pkg/tracing/sampler.ts"
import { createTracer } from "../../../../pkg/tracing/tracer.ts"
import type { Tracing } from "../../../../pkg/tracing/tracing.ts"
import { TestClusterError } from "../caller.ts"

/** What one request, or one operation that nothing else led to, has caused in the cluster. */
export interface Trace {
  readonly traceId: string
  /** The span that began it; undefined while it has not ended. */
  readonly root: FinishedSpan | undefined
  /** All spans that have ended, by their start. Times are those of the cluster's clock. */
  readonly spans: readonly FinishedSpan[]
}

/** The most spans that a cluster keeps; the oldest are dropped. */
const MOST_SPANS = 200_000

/** Ids come from a source of their own, so that a cluster with traces repeats the history of one without. */
const SEED_OF_IDS = 0x7_ace

/** Keeps the spans of a test cluster. */
export class TraceCollector {
  readonly tracing: Tracing
  #spans: FinishedSpan[] = []

  constructor(clock: Clock, seed: number) {
    this.tracing = createTracer({
      clock,
      random: seededRandom(seed ^ SEED_OF_IDS),
      sampler: parentBased(1),
      sink: (span) => this.#add(span),
    })
  }

  /** Returns the traces of spans that have ended, by the start of their first span. */
  traces(): readonly Trace[] {
    const byTrace = Map.groupBy(this.#spans.toSorted(byStart), ({ context }) => context.traceId)
    return [...byTrace].map(([traceId, spans]) => ({ traceId, root: rootOf(spans), spans }))
  }

  #add(span: FinishedSpan): void {
    // Dropped in halves, since moving the others for each one would take time.
    if (this.#spans.length >= MOST_SPANS) this.#spans = this.#spans.slice(MOST_SPANS / 2)
    this.#spans.push(span)
  }
}

/** Returns the traces of a cluster. @throws TestClusterError where it keeps none */
export function tracesOf(collector: TraceCollector | undefined): readonly Trace[] {
  if (collector === undefined)
    throw new TestClusterError("The cluster keeps no traces: start it with `startCluster({ tracing: true })`")
  return collector.traces()
}

const byStart = (a: FinishedSpan, b: FinishedSpan): number => a.startTime - b.startTime

const rootOf = (spans: readonly FinishedSpan[]): FinishedSpan | undefined =>
  spans.find(({ parentSpanId }) => parentSpanId === undefined)
