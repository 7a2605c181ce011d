import { boundedList, type Walk } from "./limits.ts"
import type { CelType } from "./type.ts"

/**
 * Values at run time. An int is a number where JavaScript holds it exactly and a bigint beyond, never both ways for one
 * value, so `===` compares ints, and the ints of real objects cost no allocation. A double is boxed, because a number
 * could not be told from an int.
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

/** An error of evaluation, which is a value until something strict meets it: `true || error` is true. */
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

/** An instant, in nanoseconds since 1970 in UTC. */
export class Timestamp {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** A length of time in nanoseconds, of 64 bits. */
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

/** A list of values; items may be made as they are asked for. */
export abstract class ListValue {
  abstract readonly size: number
  /** The item at `index`, which is from 0 up to `size`. */
  abstract at(index: number): Value
  /** Whether the list is one whose order means nothing. */
  equals(_other: ListValue, _walk: Walk): boolean | undefined {
    return undefined
  }
  /** This list with another behind it. */
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
  /** The value of a key; undefined where there is none. */
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
  /** The names of the fields that are there, also as null, as expressions name them. */
  abstract fieldNames(): readonly string[]
  abstract readonly size: number
  abstract equals(other: StructValue, walk: Walk): boolean
  /** Whether an expression made the object, and not JSON. */
  abstract readonly isMade: boolean
}

/** A value of one of Kubernetes' own types. */
export abstract class OpaqueValue {
  abstract readonly type: CelType
  abstract equals(other: Value): boolean
  /** What `size` means to cost; undefined where the value has none. */
  get costSize(): number | undefined {
    return undefined
  }
}

export const SMALLEST_INT = -(1n << 63n)
export const LARGEST_INT = (1n << 63n) - 1n
export const LARGEST_UINT = (1n << 64n) - 1n

const LARGEST_SAFE = BigInt(Number.MAX_SAFE_INTEGER)

/** An int of 64 bits in the form that values have. */
export const intOf = (value: bigint): number | bigint =>
  value <= LARGEST_SAFE && value >= -LARGEST_SAFE ? Number(value) : value

export const isInt = (value: Value): value is number | bigint => typeof value === "number" || typeof value === "bigint"

/** Characters, as Go counts them: code points. */
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
