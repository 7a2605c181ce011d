import { boundedList, type Walk } from "../limits.ts"
import type { CelType } from "../type.ts"

/**
 * Values at run time. An int is a number when JavaScript can hold it exactly, else a bigint, and never both for one
 * value, so `===` compares ints, and most ints need no allocation. A double is boxed, to tell it from an int.
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Uint
  | Double
  | Timestamp
  | Duration
  | ListValue
  | MapValue
  | StructValue
  | Optional
  | TypeValue
  | OpaqueValue
  | CelError

/** An error of evaluation. It is a value until an operation needs it: `true || error` is true. */
export class CelError {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

/** An unsigned integer of 64 bits. */
export class Uint {
  readonly value: bigint
  constructor(value: bigint) {
    this.value = value
  }
}

/** A floating point number. */
export class Double {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

/** A point in time, in nanoseconds since the epoch. */
export class Timestamp {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** A duration in nanoseconds; 64 bits. */
export class Duration {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** A value, or none. */
export class Optional {
  static readonly NONE = new Optional(undefined)
  readonly value: Value | undefined
  constructor(value: Value | undefined) {
    this.value = value
  }
}

/** A type as a value, such as `int`. */
export class TypeValue {
  readonly type: CelType
  constructor(type: CelType) {
    this.type = type
  }
}

/** A list of values; items may be created when they are read. */
export abstract class ListValue {
  abstract readonly size: number
  /** Returns the item at `index`, which is at least 0 and below `size`. */
  abstract at(index: number): Value
  /** Compares lists without regard to order where their type says so; undefined for an ordinary list. */
  equals(_other: ListValue, _walk: Walk): boolean | undefined {
    return undefined
  }
  /** Returns this list followed by another. */
  concat(other: ListValue): ListValue {
    boundedList(this.size + other.size)
    return new ArrayList([...this, ...other])
  }
  *[Symbol.iterator](): Iterator<Value> {
    for (let i = 0; i < this.size; i++) yield this.at(i)
  }
}

export class ArrayList extends ListValue {
  readonly items: readonly Value[]
  constructor(items: readonly Value[]) {
    super()
    this.items = items
  }
  get size(): number {
    return this.items.length
  }
  at(index: number): Value {
    return this.items[index]!
  }
  override [Symbol.iterator](): Iterator<Value> {
    return this.items[Symbol.iterator]()
  }
}

/** A map from keys to values. */
export abstract class MapValue {
  abstract readonly size: number
  /** Returns the value of a key; undefined when there is none. */
  abstract find(key: Value): Value | undefined
  /** Whether `in` finds the key. */
  has(key: Value): boolean {
    return this.find(key) !== undefined
  }
  abstract keys(): Iterable<Value>
}

/** An object with named fields. */
export abstract class StructValue {
  abstract readonly type: CelType
  abstract has(field: string): boolean | CelError
  abstract get(field: string): Value
  /** Returns the names of the fields that are set, including to null, as expressions name them. */
  abstract fieldNames(): readonly string[]
  abstract readonly size: number
  abstract equals(other: StructValue, walk: Walk): boolean
  /** Whether an expression built the object; false when it comes from JSON. */
  abstract readonly isMade: boolean
}

/** A value of one of Kubernetes' own types. */
export abstract class OpaqueValue {
  abstract readonly type: CelType
  abstract equals(other: Value): boolean
  /** The size of the value for costs; undefined when it has none. */
  get costSize(): number | undefined {
    return undefined
  }
}

export const SMALLEST_INT = -(1n << 63n)
export const LARGEST_INT = (1n << 63n) - 1n
export const LARGEST_UINT = (1n << 64n) - 1n

const LARGEST_SAFE = BigInt(Number.MAX_SAFE_INTEGER)

/** Returns an int of 64 bits in the form that values have. */
export const intOf = (value: bigint): number | bigint =>
  value <= LARGEST_SAFE && value >= -LARGEST_SAFE ? Number(value) : value

export const isInt = (value: Value): value is number | bigint => typeof value === "number" || typeof value === "bigint"

/** Returns the number of characters as Go counts them: code points. */
export function codePoints(text: string): number {
  let count = text.length
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0xd800 || unit > 0xdbff) continue
    const next = text.charCodeAt(i + 1)
    if (next < 0xdc00 || next > 0xdfff) continue
    count--
    i++
  }
  return count
}
