import { valueOf } from "../values/json-values.ts"
import { CostExceeded } from "../limits.ts"
import type { CelType } from "../type.ts"
import { CelError, type Value } from "../values/values.ts"

/** Variables by name: parsed JSON, or values. */
export type Activation = Readonly<Record<string, unknown>>

export interface Global {
  readonly name: string
  readonly type: CelType
}

/** The state of one evaluation: its cost so far, and its variables. */
export class Frame {
  cost = 0
  readonly limit: number
  readonly #activation: Activation
  readonly #globals: readonly Global[]
  /** Global variables first, then those of comprehensions; undefined until first read. */
  readonly slots: (Value | undefined)[]

  constructor(activation: Activation, globals: readonly Global[], size: number, limit: number) {
    this.#activation = activation
    this.#globals = globals
    this.slots = Array.from<Value | undefined>({ length: size })
    this.limit = limit
  }

  global(slot: number): Value {
    const before = this.slots[slot]
    if (before !== undefined) return before
    const { name, type } = this.#globals[slot]!
    const given = this.#activation[name]
    const value = given === undefined ? new CelError(`no such attribute(s): ${name}`) : valueOf(given, type)
    this.slots[slot] = value
    return value
  }

  /** Adds to the cost. Throws CostExceeded above the limit. */
  charge(cost: number): void {
    this.cost += cost
    if (this.cost > this.limit) throw new CostExceeded()
  }
}

/** Evaluates one expression. */
export type Step = (frame: Frame) => Value
