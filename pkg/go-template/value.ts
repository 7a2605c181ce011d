import { goTypeOf } from "../go-fmt/go-number.ts"

/**
 * A value that came out of a map or list, whose static type in Go is `interface {}`: error messages show that type.
 * Undefined is no value at all: the entry of a map that is missing, or the result of a pipeline that is null.
 */
export class Boxed {
  /** A value of the document; null for nil. */
  readonly value: unknown
  constructor(value: unknown) {
    this.value = value
  }
}

/** Returns what is in a box; undefined for null. */
export const unboxed = (value: unknown): unknown =>
  value instanceof Boxed ? (value.value === null ? undefined : value.value) : value

/** Whether a value is a box with null in it. */
export const isNilBox = (value: unknown): boolean => value instanceof Boxed && value.value === null

/** Returns the name of a value's static type. */
export const staticTypeOf = (value: unknown): string => (value instanceof Boxed ? "interface {}" : goTypeOf(value))

/** Puts an element of a map or list in its box. */
export const boxed = (value: unknown): Boxed => new Boxed(value ?? null)
