import type { Step } from "../program.ts"

/** A time in which something was wrong, in milliseconds since the epoch. */
export interface Trouble {
  readonly from: number
  /** Infinity while it lasts. */
  to: number
  /** The name of the fault, such as `nodeLost`. */
  readonly is: string
}

/** The steps after which components may act on what is no longer so. */
export const IS_TROUBLE: ReadonlySet<Step["do"]> = new Set([
  "clockJump",
  "deleteNode",
  "dropWatches",
  "fault",
  "forgetHistory",
])

/** How long components may act on what they saw before, where nothing is wrong: instants of virtual time are whole. */
const SIGHT_MS = 1000
/** How long components may need after a fault until they see everything again: twice the longest back-off of a watch. */
const AFTERMATH_MS = 120_000

/** What happened to a cluster beside its writes: when which faults were active. */
export class Course {
  readonly #troubles: readonly Trouble[]

  constructor(troubles: readonly Trouble[] = []) {
    this.#troubles = troubles.toSorted((a, b) => b.to - a.to)
  }

  /**
   * Returns the earliest time, in milliseconds since the epoch, whose state a component may still act on at `now`.
   * Where watches were lost, it may know only what was there before. -Infinity where the clock was set.
   */
  seenSince(now: number): number {
    if (this.#hasJumped) return -Infinity
    let since = now - SIGHT_MS
    for (const { from, to } of this.#troubles)
      if (from <= now && to + AFTERMATH_MS >= since) since = Math.min(since, from - SIGHT_MS)
    return since
  }

  /** Whether nothing was wrong between the two times, nor shortly before; faults in `but` do not count. */
  wasCalm(from: number, to: number, but: readonly string[] = []): boolean {
    if (this.#hasJumped) return false
    return !this.#troubles.some(
      (trouble) => !but.includes(trouble.is) && trouble.from <= to && trouble.to + AFTERMATH_MS >= from,
    )
  }

  /** Whether the wall clock was set: then times in objects cannot be compared. */
  get #hasJumped(): boolean {
    return this.#troubles.some(({ is }) => is === "clockJump")
  }
}
