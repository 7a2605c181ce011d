import { noFlags, padded, type Flags } from "./flags.ts"
import { formatComplex, formatFloatVerb, formatInteger } from "./format-number.ts"
import { formatText } from "./format-text.ts"
import { GoObject } from "./go-object.ts"
import { goTypeOf, isGoMap, numberOf, sortedEntries } from "./go-number.ts"

/** Returns values as Go's fmt.Sprint prints them: a space stands between two that are no texts. */
export function sprint(values: readonly unknown[]): string {
  let out = ""
  for (const [i, value] of values.entries()) {
    if (i > 0 && typeof value !== "string" && typeof values[i - 1] !== "string") out += " "
    out += formatValue(value, "v", noFlags())
  }
  return out
}

/** Returns values as Go's fmt.Sprintln prints them. */
export const sprintln = (values: readonly unknown[]): string =>
  `${values.map((value) => formatValue(value, "v", noFlags())).join(" ")}\n`

/** Returns a value as Go's `%#v` prints it. */
export const goSyntaxOf = (value: unknown): string => formatValue(value, "v", { ...noFlags(), sharpV: true })

/** Returns an argument of a format as its verb prints it. */
function formatValue(value: unknown, verb: string, flags: Flags): string {
  if (value === null || value === undefined)
    return verb === "T" || verb === "v" ? padded("<nil>", flags) : `%!${verb}(<nil>)`
  return verb === "T" ? (formatText(goTypeOf(value), "s", flags) ?? "") : formatInner(value, verb, flags)
}

/** Returns a value as a verb prints it, also inside of a list or map. Source: Go fmt/print.go, printValue. */
function formatInner(value: unknown, verb: string, flags: Flags): string {
  if (value === null || value === undefined) return flags.sharpV ? "interface {}(nil)" : "<nil>"
  if (Array.isArray(value)) {
    if (verb === "p" || verb === "w") return wrongVerb(value, verb, flags)
    const items = value.map((item) => formatInner(item, verb, flags))
    return flags.sharpV ? `[]interface {}{${items.join(", ")}}` : `[${items.join(" ")}]`
  }
  const text = simple(value, verb, flags)
  if (text !== undefined) return text
  if (!isGoMap(value) || verb === "p" || verb === "w") return wrongVerb(value, verb, flags)
  const entries = sortedEntries(value).map(
    ([key, item]) => `${formatInner(key, verb, flags)}:${formatInner(item, verb, flags)}`,
  )
  return flags.sharpV ? `map[string]interface {}{${entries.join(", ")}}` : `map[${entries.join(" ")}]`
}

function simple(value: unknown, verb: string, flags: Flags): string | undefined {
  if (typeof value === "string") return formatText(value, verb, flags)
  if (value instanceof GoObject) return formatText(value.text, verb === "v" ? "s" : verb, flags)
  if (typeof value === "boolean") return verb === "v" || verb === "t" ? padded(String(value), flags) : undefined
  const number = numberOf(value)
  switch (number?.type) {
    case undefined:
      return undefined
    case "float64":
      return formatFloatVerb(number.value, verb, flags)
    case "complex128":
      return formatComplex(number.value, verb, flags)
    case "int":
    case "int64":
    case "uint8":
      return formatInteger(number.value, verb, flags, number.type !== "uint8")
  }
}

const wrongVerb = (value: unknown, verb: string, flags: Flags): string =>
  `%!${verb}(${goTypeOf(value)}=${formatInner(value, "v", flags)})`

/** The longest text that a format makes, in characters. Go has no such limit. */
const LONGEST = 64 * 1024 * 1024
/** Widths and precisions beyond this number are refused. */
const LARGEST = 1e6

/** A number that is read at a place of a format, and the place after it. */
interface ReadNumber {
  readonly value: number | undefined
  readonly next: number
}

function readNumber(format: string, from: number, end: number): ReadNumber {
  let at = from
  let value = 0
  for (; at < end && /[0-9]/.test(format[at]!); at++) {
    if (value > LARGEST) return { value: undefined, next: end }
    value = value * 10 + Number(format[at])
  }
  return { value: at > from ? value : undefined, next: at }
}

/** The reading of one format: which argument comes next, and how far the format has been read. */
class Format {
  at = 0
  argument = 0
  #isReordered = false
  #isGoodIndex = true
  #isAfterIndex = false
  readonly #format: string
  readonly #values: readonly unknown[]

  constructor(format: string, values: readonly unknown[]) {
    this.#format = format
    this.#values = values
  }

  /** Returns all of the text. Source: Go fmt/print.go, doPrintf. */
  print(): string {
    let out = ""
    while (this.at < this.#format.length) {
      const percent = this.#format.indexOf("%", this.at)
      const end = percent === -1 ? this.#format.length : percent
      out += this.#format.slice(this.at, end)
      this.at = end + 1
      if (percent !== -1) out += this.#verb()
      if (out.length > LONGEST) throw new Error("the text would be too long")
    }
    return out + this.#extra()
  }

  #verb(): string {
    this.#isGoodIndex = true
    const flags = noFlags()
    this.#readFlags(flags)
    this.#isAfterIndex = this.#readIndex()
    const wrong = this.#readWidth(flags) + this.#readPrecision(flags)
    if (!this.#isAfterIndex) this.#isAfterIndex = this.#readIndex()
    if (this.at >= this.#format.length) return `${wrong}%!(NOVERB)`
    const verb = String.fromCodePoint(this.#format.codePointAt(this.at)!)
    this.at += verb.length
    return wrong + this.#argument(verb, flags)
  }

  #argument(verb: string, flags: Flags): string {
    if (verb === "%") return "%"
    if (!this.#isGoodIndex) return `%!${verb}(BADINDEX)`
    if (this.argument >= this.#values.length) return `%!${verb}(MISSING)`
    if (verb === "v" || verb === "w") {
      flags.sharpV = flags.sharp
      flags.sharp = false
      flags.plus = false
    }
    return formatValue(this.#values[this.argument++], verb, flags)
  }

  #readFlags(flags: Flags): void {
    for (; this.at < this.#format.length; this.at++) {
      const sign = this.#format[this.at]
      if (sign === "#") flags.sharp = true
      else if (sign === "0") flags.zero = true
      else if (sign === "+") flags.plus = true
      else if (sign === "-") flags.minus = true
      else if (sign === " ") flags.space = true
      else return
    }
  }

  #readWidth(flags: Flags): string {
    if (this.#format[this.at] === "*") {
      this.at++
      this.#isAfterIndex = false
      const width = this.#integerArgument()
      if (width === undefined) return "%!(BADWIDTH)"
      if (width < 0) {
        flags.minus = true
        flags.zero = false
      }
      flags.width = Math.abs(width)
      return ""
    }
    const { value, next } = readNumber(this.#format, this.at, this.#format.length)
    this.at = next
    flags.width = value
    if (this.#isAfterIndex && value !== undefined) this.#isGoodIndex = false
    return ""
  }

  #readPrecision(flags: Flags): string {
    if (this.#format[this.at] !== "." || this.at + 1 >= this.#format.length) return ""
    this.at++
    if (this.#isAfterIndex) this.#isGoodIndex = false
    this.#isAfterIndex = this.#readIndex()
    if (this.#format[this.at] === "*") {
      this.at++
      this.#isAfterIndex = false
      const precision = this.#integerArgument()
      flags.precision = precision === undefined || precision < 0 ? undefined : precision
      return flags.precision === undefined ? "%!(BADPREC)" : ""
    }
    const { value, next } = readNumber(this.#format, this.at, this.#format.length)
    this.at = next
    flags.precision = value ?? 0
    return ""
  }

  /** Reads an index such as `[2]`. */
  #readIndex(): boolean {
    if (this.#format[this.at] !== "[") return false
    this.#isReordered = true
    const close = this.#format.length - this.at < 3 ? -1 : this.#format.indexOf("]", this.at + 1)
    if (close === -1) {
      this.at++
      this.#isGoodIndex = false
      return false
    }
    const { value, next } = readNumber(this.#format, this.at + 1, close)
    this.at = close + 1
    const isRead = value !== undefined && next === close
    if (isRead && value >= 1 && value <= this.#values.length) {
      this.argument = value - 1
      return true
    }
    this.#isGoodIndex = false
    return isRead
  }

  #integerArgument(): number | undefined {
    if (this.argument >= this.#values.length) return undefined
    const number = numberOf(this.#values[this.argument++])
    if (number === undefined || typeof number.value !== "bigint") return undefined
    return number.value > LARGEST || number.value < -LARGEST ? undefined : Number(number.value)
  }

  /** Returns what Go prints for arguments that the format does not use. */
  #extra(): string {
    const rest = this.#values.slice(this.argument)
    if (this.#isReordered || rest.length === 0) return ""
    const shown = rest.map((value) =>
      value === null || value === undefined ? "<nil>" : `${goTypeOf(value)}=${formatValue(value, "v", noFlags())}`,
    )
    return `%!(EXTRA ${shown.join(", ")})`
  }
}

/** Returns a text made by a format of Go's fmt package. */
export const sprintf = (format: string, values: readonly unknown[]): string => new Format(format, values).print()
