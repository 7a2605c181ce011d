import type { Clock } from "../clock/clock.ts"
import type { Cause, Causes, TraceSpan } from "./tracing.ts"

/** How many of the newest writes are kept, and for how long: controllers react to a write soon. */
const MOST_WRITES = 8192
const LONGEST_MS = 5 * 60_000
/**
 * A trace ends after this many operations of which each caused the next one, so that two controllers that undo each
 * other's changes for ever do not make one endless trace. From apply to a ready pod it takes about ten.
 */
const MOST_DEPTH = 64

interface Write extends Cause {
  readonly at: number
}

/** Keeps the spans of the newest writes by revision, in the memory of this process only. */
export class RecentCauses implements Causes {
  readonly #clock: Clock
  readonly #writes = new Map<number, Write>()
  /** Returns how many spans are between a span and the root of its trace. */
  readonly #depthOf: (span: TraceSpan) => number

  constructor(clock: Clock, depthOf: (span: TraceSpan) => number) {
    this.#clock = clock
    this.#depthOf = depthOf
  }

  note(revision: number, span: TraceSpan): void {
    const depth = this.#depthOf(span) + 1
    if (depth > MOST_DEPTH) return
    if (this.#writes.size >= MOST_WRITES) this.#writes.delete(this.#writes.keys().next().value!)
    this.#writes.set(revision, { context: span.context, depth, at: this.#clock.monotonic() })
  }

  of(resourceVersion: string | undefined): Cause | undefined {
    if (resourceVersion === undefined) return undefined
    const write = this.#writes.get(Number(resourceVersion))
    return write === undefined || this.#clock.monotonic() - write.at > LONGEST_MS ? undefined : write
  }
}
