import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { Leaves } from "./leaves.ts"

/** What an object was from a write on. */
export interface ObjectState {
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly revision: number
  readonly user: string
  /** Whether the write is one that is compared: of a controller, the scheduler, or what the test runs. */
  readonly isCompared: boolean
  /** Undefined where the object is gone. */
  readonly object: KubeObject | undefined
}

/** The states of one object in one run, oldest first; the first one is that at the beginning. */
export class Timeline {
  readonly states: ObjectState[]
  readonly #leaves = new Map<ObjectState, Leaves>()
  readonly #leavesOf: (object: KubeObject) => Leaves

  constructor(leavesOf: (object: KubeObject) => Leaves, begin: number, object: KubeObject | undefined) {
    this.#leavesOf = leavesOf
    this.states = [{ time: begin, revision: 0, user: "", isCompared: false, object }]
  }

  add(state: ObjectState): void {
    this.states.push(state)
  }

  /** Returns the fields of the object in a state; undefined where it is gone. */
  leaves(state: ObjectState): Leaves | undefined {
    if (state.object === undefined) return undefined
    const known = this.#leaves.get(state)
    if (known !== undefined) return known
    const leaves = this.#leavesOf(state.object)
    this.#leaves.set(state, leaves)
    return leaves
  }

  /** Whether a state of a span of time, inclusive, has a property. */
  had(from: number, to: number, holds: (leaves: Leaves | undefined) => boolean): boolean {
    const { states } = this
    for (let i = states.length - 1; i >= 0; i--) {
      const state = states[i]!
      if (state.time <= to && holds(this.leaves(state))) return true
      if (state.time < from) return false
    }
    return false
  }

  /** Returns when a property ends that the state with an index has: at the first later state without it. */
  lasts(index: number, holds: (leaves: Leaves | undefined) => boolean): number {
    const { states } = this
    for (let i = index + 1; i < states.length; i++) if (!holds(this.leaves(states[i]!))) return states[i]!.time
    return Infinity
  }
}
