import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { durationProblem, formatDuration, parseDuration } from "../../apimachinery/scalars/time.ts"

/** A flag as pflag has them: how its text is read, and how help shows it. */
export interface Flag<T = unknown> {
  /** The name of the type in Go: `string`, `bool`, `stringSlice`. */
  readonly type: string
  readonly default: T
  /** The default as help shows it. */
  readonly defaultText: string
  readonly usage: string
  readonly shorthand?: string
  /** The value of a flag without `=value`; a flag that has none takes the next argument. */
  readonly noOptionDefault?: string
  readonly deprecated?: string
  readonly hidden?: boolean
  /**
   * Returns the value of a text. `previous` is the value so far, and `changed` whether an earlier argument set it.
   * @throws Error in the words of Go's strconv
   */
  parse(text: string, previous: T, changed: boolean): T
}

/** What most flags have beside their default. */
export interface FlagOptions {
  readonly shorthand?: string
  readonly noOptionDefault?: string
  readonly deprecated?: string
  readonly hidden?: boolean
}

/** Flags by their names: `all-namespaces`. */
export type Flags = Readonly<Record<string, Flag>>
/** The values of flags by the flags' names. */
export type FlagValues<F> = { readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never }

const TRUE = new Set(["1", "t", "T", "true", "TRUE", "True"])
const FALSE = new Set(["0", "f", "F", "false", "FALSE", "False"])

/** @throws Error in the words of strconv.ParseBool */
export function parseBool(text: string): boolean {
  if (TRUE.has(text)) return true
  if (FALSE.has(text)) return false
  throw new Error(`strconv.ParseBool: parsing ${goQuoted(text)}: invalid syntax`)
}

export const stringFlag = (fallback: string, usage: string, options: FlagOptions = {}): Flag<string> => ({
  type: "string",
  default: fallback,
  defaultText: fallback,
  usage,
  ...options,
  parse: (text) => text,
})

export const boolFlag = (fallback: boolean, usage: string, options: FlagOptions = {}): Flag<boolean> => ({
  type: "bool",
  default: fallback,
  defaultText: String(fallback),
  usage,
  noOptionDefault: "true",
  ...options,
  parse: parseBool,
})

const RANGES = { int: 64, int64: 64, int32: 32, uint16: 16 } as const

function parseInteger(text: string, type: keyof typeof RANGES): number {
  const unsigned = type === "uint16"
  const call = unsigned ? "strconv.ParseUint" : "strconv.ParseInt"
  const pattern = unsigned
    ? /^(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9]\d*)$/
    : /^[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9]\d*)$/
  if (!pattern.test(text)) throw new Error(`${call}: parsing ${goQuoted(text)}: invalid syntax`)
  const digits = text.replace(/^[+-]/, "")
  const value = BigInt(/^0\d/.test(digits) ? `0o${digits.slice(1)}` : digits) * (text.startsWith("-") ? -1n : 1n)
  const bits = BigInt(RANGES[type])
  const [least, most] = unsigned ? [0n, (1n << bits) - 1n] : [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n]
  if (value < least || value > most) throw new Error(`${call}: parsing ${goQuoted(text)}: value out of range`)
  return Number(value)
}

const integerFlag =
  (type: keyof typeof RANGES) =>
  (fallback: number, usage: string, options: FlagOptions = {}): Flag<number> => ({
    type,
    default: fallback,
    defaultText: String(fallback),
    usage,
    ...options,
    parse: (text) => parseInteger(text, type),
  })

export const intFlag = integerFlag("int")
export const int32Flag = integerFlag("int32")
export const int64Flag = integerFlag("int64")
export const uint16Flag = integerFlag("uint16")

/** A duration, whose value is in milliseconds. */
export const durationFlag = (fallbackMs: number, usage: string, options: FlagOptions = {}): Flag<number> => ({
  type: "duration",
  default: fallbackMs,
  defaultText: formatDuration(fallbackMs),
  usage,
  ...options,
  parse(text) {
    const ms = parseDuration(text)
    if (ms === undefined) throw new Error(durationProblem(text) ?? `time: invalid duration ${goQuoted(text)}`)
    return ms
  },
})

/** Several values: a repeated flag, each with values between commas, in quotes as CSV has them. */
export const stringSliceFlag = (
  fallback: readonly string[],
  usage: string,
  options: FlagOptions = {},
): Flag<readonly string[]> => ({
  type: "stringSlice",
  default: fallback,
  defaultText: `[${fallback.join(",")}]`,
  usage,
  ...options,
  parse: (text, previous, changed) => [...(changed ? previous : []), ...csvLine(text)],
})

/** Several values: a repeated flag, each with one value. */
export const stringArrayFlag = (
  fallback: readonly string[],
  usage: string,
  options: FlagOptions = {},
): Flag<readonly string[]> => ({
  type: "stringArray",
  default: fallback,
  defaultText: `[${fallback.join(",")}]`,
  usage,
  ...options,
  parse: (text, previous, changed) => [...(changed ? previous : []), text],
})

/** `key=value` pairs between commas. */
export const stringMapFlag = (
  fallback: Readonly<Record<string, string>>,
  usage: string,
  options: FlagOptions = {},
): Flag<Readonly<Record<string, string>>> => ({
  type: "stringToString",
  default: fallback,
  defaultText: `[${Object.entries(fallback)
    .map(([key, value]) => `${key}=${value}`)
    .join(",")}]`,
  usage,
  ...options,
  parse: (text, previous, changed) => ({
    ...(changed ? previous : {}),
    ...Object.fromEntries(
      csvLine(text).map((pair) => {
        const at = pair.indexOf("=")
        if (at === -1) throw new Error(`${pair} must be formatted as key=value`)
        return [pair.slice(0, at), pair.slice(at + 1)]
      }),
    ),
  }),
})

/** A flag of any type of its own. */
export const customFlag = <T>(flag: Flag<T>): Flag<T> => flag

/** Reads one line of CSV as Go's encoding/csv. */
export function csvLine(text: string): readonly string[] {
  if (text === "") return []
  if (!text.includes('"')) return text.split("\n", 1)[0]!.split(",")
  const values: string[] = []
  let at = 0
  for (;;) {
    if (text[at] !== '"') {
      const end = text.indexOf(",", at)
      const value = text.slice(at, end === -1 ? undefined : end)
      const bare = value.indexOf('"')
      if (bare !== -1) throw new Error(`parse error on line 1, column ${at + bare + 1}: bare " in non-quoted-field`)
      values.push(value)
      if (end === -1) return values
      at = end + 1
      continue
    }
    let value = ""
    at++
    for (;;) {
      const end = text.indexOf('"', at)
      if (end === -1)
        throw new Error(`parse error on line 1, column ${text.length + 1}: extraneous or missing " in quoted-field`)
      value += text.slice(at, end)
      at = end + 1
      if (text[at] !== '"') break
      value += '"'
      at++
    }
    values.push(value)
    if (at >= text.length) return values
    if (text[at] !== ",")
      throw new Error(`parse error on line 1, column ${at + 1}: extraneous or missing " in quoted-field`)
    at++
  }
}
