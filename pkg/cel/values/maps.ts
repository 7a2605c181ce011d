import { Double, intOf, LARGEST_INT, MapValue, Uint, type Value } from "./values.ts"

/**
 * Returns the key of a primitive value in a JavaScript map or set: equal numbers of all types have the same key.
 * Undefined for other values, and for NaN.
 */
export function identity(key: Value): string | number | bigint | boolean | undefined {
  switch (typeof key) {
    case "string":
    case "number":
    case "bigint":
    case "boolean":
      return key
    default:
      if (key instanceof Uint) return key.value <= LARGEST_INT ? intOf(key.value) : key.value
      if (!(key instanceof Double) || Number.isNaN(key.value)) return undefined
      return Number.isInteger(key.value) ? intOf(BigInt(key.value)) : key.value
  }
}

/** A map that an expression built. */
export class HashMap extends MapValue {
  readonly #entries = new Map<unknown, readonly [Value, Value]>()

  get size(): number {
    return this.#entries.size
  }
  find(key: Value): Value | undefined {
    return this.#entries.get(identity(key))?.[1]
  }
  *keys(): Iterable<Value> {
    for (const [key] of this.#entries.values()) yield key
  }
  /** Sets an entry. Returns false, without setting it, when the value cannot be a key. */
  set(key: Value, value: Value): boolean {
    const id = identity(key)
    if (id === undefined) return false
    this.#entries.set(id, [key, value])
    return true
  }
  delete(key: Value): void {
    this.#entries.delete(identity(key))
  }
}
