import { clearedAtRest } from "../../cache/at-rest.ts"

/**
 * Resource quantities (`100m`, `1.5Gi`, `2e3`), kept exactly as a bigint number of billionths, the smallest unit; finer
 * values are rounded away from zero. Source: apimachinery pkg/api/resource/{quantity,suffix,scale_int}.go.
 */
export interface Quantity {
  /** The value in billionths. */
  readonly nano: bigint
  /** The family of suffixes with which it is written. */
  readonly format: QuantityFormat
}
export type QuantityFormat = "BinarySI" | "DecimalSI" | "DecimalExponent"

const NANO = 1_000_000_000n
/** Upstream limits values to 63 bits. */
const LARGEST = ((1n << 63n) - 1n) * NANO

const DECIMAL: ReadonlyMap<string, number> = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
])
const BINARY: ReadonlyMap<string, bigint> = new Map([
  ["Ki", 10n],
  ["Mi", 20n],
  ["Gi", 30n],
  ["Ti", 40n],
  ["Pi", 50n],
  ["Ei", 60n],
])

const FORM = /^([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+|[KMGTPE]i|[numkMGTPE])?$/

/** The message for text that is not a quantity. */
export const QUANTITY_FORM =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

/** Parses a quantity; returns undefined when the text is not one. */
export function parseQuantity(text: string): Quantity | undefined {
  const before = known.get(text)
  if (before !== undefined) return before
  const parsed = parse(text)
  if (parsed === undefined || text.length > LONGEST_KNOWN) return parsed
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(text, parsed)
  return parsed
}
/** Caches quantities, since a cluster has few different ones and needs them for every pod. Emptied when full. */
const known = clearedAtRest(new Map<string, Quantity>())
const MOST_KNOWN = 4096
/** Longer texts are not cached: a client may send a number of a megabyte. */
const LONGEST_KNOWN = 64

function parse(text: string): Quantity | undefined {
  const match = FORM.exec(text)
  if (match === null) return undefined
  const [, sign, number, suffix = ""] = match
  const [integer = "", fraction = ""] = number!.split(".")
  const digits = BigInt(`${integer}${fraction}` || "0")
  const shift = BINARY.get(suffix)
  const exponent = shift !== undefined ? 0 : (DECIMAL.get(suffix) ?? Number(suffix.slice(1)))
  const format = shift !== undefined ? "BinarySI" : DECIMAL.has(suffix) ? "DecimalSI" : "DecimalExponent"
  const scaled = scale(shift === undefined ? digits : digits << shift, exponent - fraction.length + 9)
  const capped = scaled > LARGEST ? LARGEST : scaled
  return { nano: sign === "-" ? -capped : capped, format }
}

/** Parses a quantity; throws TypeError when the text is not one. For values that were validated before. */
export function quantity(text: string): Quantity {
  const parsed = parseQuantity(text)
  if (parsed === undefined) throw new TypeError(`${JSON.stringify(text)} is not a quantity: ${QUANTITY_FORM}`)
  return parsed
}

/**
 * Returns value × 10^exponent, rounded up. Exponents beyond any useful value are limited, so that no text makes a giant
 * number.
 */
function scale(value: bigint, exponent: number): bigint {
  if (value === 0n) return 0n
  if (exponent >= 0) return exponent > 60 ? LARGEST + 1n : value * 10n ** BigInt(exponent)
  if (-exponent > value.toString().length + 1) return 1n
  return ceilDivide(value, 10n ** BigInt(-exponent))
}
const ceilDivide = (value: bigint, by: bigint): bigint =>
  value % by === 0n ? value / by : value >= 0n ? value / by + 1n : value / by - 1n

/**
 * Formats a quantity in canonical form: no fraction, the largest suffix that leaves a whole number. Binary values below
 * 1024, and those that are not whole numbers, have decimal suffixes.
 */
export function formatQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return "0"
  const [sign, size] = nano < 0n ? ["-", -nano] : ["", nano]
  if (format === "BinarySI" && size >= 1024n * NANO && size % NANO === 0n) {
    let whole = size / NANO
    let suffix = ""
    for (const [name] of BINARY) {
      if (whole % 1024n !== 0n) break
      whole /= 1024n
      suffix = name
    }
    return `${sign}${whole}${suffix}`
  }
  let number = size
  let exponent = -9
  while (exponent < 18 && number % 1000n === 0n) {
    number /= 1000n
    exponent += 3
  }
  if (format === "DecimalExponent") return `${sign}${number}${exponent === 0 ? "" : `e${exponent}`}`
  return `${sign}${number}${[...DECIMAL].find(([, power]) => power === exponent)![0]}`
}

/** Returns the canonical form of a text; undefined when it is not a quantity. */
export function canonicalQuantity(text: string): string | undefined {
  if (ALREADY_CANONICAL.test(text)) return text
  const parsed = parseQuantity(text)
  return parsed === undefined ? undefined : formatQuantity(parsed)
}
/** Matches the form of nearly all quantities in manifests, for which no arithmetic is needed. */
const ALREADY_CANONICAL = /^(?:0|[1-9][0-9]{0,2}(?:[mkMGTP]|[KMGTP]i)?)$/

/** Returns a number below, equal to or above zero when `a` is less than, equal to or greater than `b`. */
export const compareQuantities = (a: Quantity, b: Quantity): number => (a.nano < b.nano ? -1 : a.nano > b.nano ? 1 : 0)

/** Returns the sum, in the format of the first quantity, or of the second if the first is zero. */
export const addQuantities = (a: Quantity, b: Quantity): Quantity => ({
  nano: a.nano + b.nano,
  format: a.nano === 0n ? b.format : a.format,
})
export const subtractQuantities = (a: Quantity, b: Quantity): Quantity => ({
  nano: a.nano - b.nano,
  format: a.nano === 0n ? b.format : a.format,
})

/** Returns whole units, rounded up: bytes, pods, cores. */
export const unitsOf = (text: string): number => Number(ceilDivide(quantity(text).nano, NANO))
/** Returns thousandths, rounded up: CPU. */
export const milliOf = (text: string): number => Number(ceilDivide(quantity(text).nano, 1_000_000n))

/** Returns a quantity of `count` whole units. Use binary format for memory and storage, decimal for everything else. */
export const fromUnits = (count: number | bigint, format: QuantityFormat = "DecimalSI"): Quantity => ({
  nano: BigInt(count) * NANO,
  format,
})
export const fromMilli = (count: number | bigint): Quantity => ({
  nano: BigInt(count) * 1_000_000n,
  format: "DecimalSI",
})
