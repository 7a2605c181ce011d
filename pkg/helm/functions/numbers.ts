import { goFloat, goInt, type TypedNumber } from "../../go-fmt/go-number.ts"
import { failCall } from "../../go-template/function-error.ts"
import type { TemplateFunction } from "../../go-template/functions.ts"
import { largest, smallest } from "../../lists/extremes.ts"
import { anyOf, float, int64, integer, text, textFrom, whole } from "./convert.ts"

/** The longest list that a function makes. */
const MOST_NUMBERS = 100_000

function counted(start: number, stop: number, step: number): readonly number[] {
  if (step === 0 || stop > start !== step > 0) return []
  const count = Math.ceil((stop - start) / step)
  if (count > MOST_NUMBERS) failCall(`a list of ${count} numbers is too long`)
  return Array.from({ length: count }, (_, i) => start + i * step)
}

function sequence(bounds: readonly number[]): string {
  const [first = 1, second, third] = bounds
  if (bounds.length === 0 || bounds.length > 3) return ""
  const [start, stop] = bounds.length === 1 ? [1, first] : [first, third ?? second!]
  const direction = stop < start ? -1 : 1
  if (bounds.length === 3 && direction < 0 && second! > 0) return ""
  return counted(start, stop + direction, bounds.length === 3 ? second! : direction).join(" ")
}

function rounded(value: number, places: number, from = 0.5): number {
  const power = 10 ** places
  const digit = value * power
  return (digit - Math.trunc(digit) >= from ? Math.ceil(digit) : Math.floor(digit)) / power
}

const divisor = (value: unknown): bigint => {
  const number = integer(value)
  return number === 0n ? failCall("runtime error: integer divide by zero") : number
}

/** Joins floats by their decimal form, which has no binary rounding. */
const exact = (value: number): number => Number(value.toPrecision(15))

const wrapped = (value: bigint): TypedNumber => int64(BigInt.asIntN(64, value))

/** Functions of numbers. Source of names and rules: Masterminds/sprig numeric.go. */
export const NUMBER_FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  atoi: anyOf((value) => goInt(/^[+-]?\d+$/.test(text(value)) ? BigInt(text(value)) : 0n)),
  int64: anyOf((value) => wrapped(integer(value))),
  int: anyOf((value) => goInt(BigInt.asIntN(64, integer(value)))),
  float64: anyOf((value) => goFloat(float(value))),
  toDecimal: anyOf((value) => int64(/^[0-7]+$/.test(textFrom(value)) ? Number.parseInt(textFrom(value), 8) : 0)),
  until: anyOf((count) => counted(0, whole(count), whole(count) < 0 ? -1 : 1).map(goInt)),
  untilStep: anyOf((start, stop, step) => counted(whole(start), whole(stop), whole(step)).map(goInt)),
  seq: anyOf((...bounds) => sequence(bounds.map(whole))),
  add1: anyOf((value) => wrapped(integer(value) + 1n)),
  add: anyOf((...values) => wrapped(values.reduce<bigint>((sum, value) => sum + integer(value), 0n))),
  sub: anyOf((a, b) => wrapped(integer(a) - integer(b))),
  div: anyOf((a, b) => wrapped(integer(a) / divisor(b))),
  mod: anyOf((a, b) => wrapped(integer(a) % divisor(b))),
  mul: anyOf((...values) => wrapped(values.reduce<bigint>((sum, value) => sum * integer(value), 1n))),
  addf: anyOf((...values) => goFloat(exact(values.reduce<number>((sum, value) => sum + float(value), 0)))),
  add1f: anyOf((value) => goFloat(exact(float(value) + 1))),
  subf: anyOf((a, ...values) => goFloat(exact(values.reduce<number>((sum, value) => sum - float(value), float(a))))),
  mulf: anyOf((a, ...values) => goFloat(exact(values.reduce<number>((sum, value) => sum * float(value), float(a))))),
  divf: anyOf((a, ...values) => goFloat(values.reduce<number>((sum, value) => sum / float(value), float(a)))),
  max: anyOf((...values) => int64(values.map(integer).reduce((a, b) => (b > a ? b : a)))),
  biggest: anyOf((...values) => int64(values.map(integer).reduce((a, b) => (b > a ? b : a)))),
  min: anyOf((...values) => int64(values.map(integer).reduce((a, b) => (b < a ? b : a)))),
  maxf: anyOf((...values) => goFloat(largest(values.map(float)))),
  minf: anyOf((...values) => goFloat(smallest(values.map(float)))),
  ceil: anyOf((value) => goFloat(Math.ceil(float(value)))),
  floor: anyOf((value) => goFloat(Math.floor(float(value)))),
  round: anyOf((value, places, from) =>
    goFloat(rounded(float(value), whole(places), from === undefined ? 0.5 : float(from))),
  ),
}
