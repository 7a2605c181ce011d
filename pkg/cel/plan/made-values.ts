import { equal } from "../values/compare.ts"
import type { Walk } from "../limits.ts"
import type { CelType } from "../type.ts"
import { ArrayList, CelError, ListValue, StructValue, type Value } from "../values/values.ts"

/**
 * The accumulator of `map` and `filter`. It grows in place, which is safe since no other value refers to it before the
 * loop ends.
 */
export class GrowingList extends ListValue {
  readonly #items: Value[] = []
  get size(): number {
    return this.#items.length
  }
  at(index: number): Value {
    return this.#items[index]!
  }
  override concat(other: ListValue): ListValue {
    for (const item of other) this.#items.push(item)
    return this
  }
  settled(): ListValue {
    return new ArrayList(this.#items)
  }
}

/** An object that an expression built: `Object{spec: …}`. */
export class MadeStruct extends StructValue {
  readonly isMade = true
  readonly type: CelType
  readonly values: ReadonlyMap<string, Value>

  constructor(type: CelType, values: ReadonlyMap<string, Value>) {
    super()
    this.type = type
    this.values = values
  }
  get size(): number {
    return this.values.size
  }
  has(field: string): boolean {
    return this.values.has(field)
  }
  get(field: string): Value {
    // A field may be set to null, which is a value too.
    const value = this.values.get(field)
    return value === undefined ? new CelError(`no such key: ${field}`) : value
  }
  fieldNames(): readonly string[] {
    return [...this.values.keys()]
  }
  equals(other: StructValue, walk: Walk): boolean {
    return (
      other instanceof MadeStruct &&
      other.type.name === this.type.name &&
      other.size === this.size &&
      [...this.values].every(([name, value]) => other.has(name) && equal(value, other.get(name), walk))
    )
  }
}
