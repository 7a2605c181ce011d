import { Buffer } from "node:buffer"
import { exactInteger, ExactNumber } from "../apimachinery/json/exact-number.ts"
import { YamlError } from "./cursor.ts"

const TAG_PREFIX = "tag:yaml.org,2002:"

/** The plain scalars with a meaning in YAML 1.1, except numbers. Source: go.yaml.in/yaml/v2 resolve.go. */
const WORDS: ReadonlyMap<string, boolean | null | number> = new Map<string, boolean | null | number>([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, NaN] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((word) => [word, Infinity] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, -Infinity] as const),
])
const LONGEST_WORD = 5

/** Returns the value of a scalar without quotes and without a tag: text, a number, true, false or null. */
export function plainValue(text: string): unknown {
  if (text.length <= LONGEST_WORD) {
    const word = WORDS.get(text)
    if (word !== undefined) return word
  }
  const first = text.charCodeAt(0)
  // A number begins with a digit, a sign or a point.
  return (first >= 48 && first <= 57) || first === 43 || first === 45 || first === 46 ? (numberOf(text) ?? text) : text
}

const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/
const INTEGER = /^([-+]?)(0[xX][\da-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]*)$/
const STRAY_UNDERSCORE = /(?<![0-9])_|_(?![0-9])/
/** More digits than any 64-bit integer has, in any base. */
const MOST_DIGITS = 70
const [LEAST_INT64, MOST_UINT64] = [-(2n ** 63n), 2n ** 64n - 1n]

/** Returns a number as Go's ParseInt (base 0) and ParseFloat read it; undefined for other text. */
function numberOf(text: string): unknown {
  // Behind a point, Go's ParseFloat reads the underscores, which must stand between digits.
  const plain = text.startsWith(".") && STRAY_UNDERSCORE.test(text) ? text : text.replaceAll("_", "")
  if (plain.length <= MOST_DIGITS) {
    // A sign can stand behind the prefix of a binary number, too.
    const [, sign, digits = ""] = INTEGER.exec(plain.replace(/^0b([-+])(?=[01]+$)/, "$10b")) ?? []
    if (digits !== "") {
      const value = integerOf(digits) * (sign === "-" ? -1n : 1n)
      if (value >= LEAST_INT64 && value <= MOST_UINT64) return exactInteger(value)
    }
  }
  if (!FLOAT.test(plain)) return undefined
  const value = Number(plain)
  return Number.isFinite(value) ? value : undefined
}

/** Parses an integer. `017` and `0o17` are octal; the other prefixes are JavaScript's. */
const integerOf = (digits: string): bigint =>
  BigInt(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits.toLowerCase())

const NAMES: Readonly<Record<string, string>> = { boolean: "!!bool", number: "!!float", string: "!!str" }

/**
 * Returns the value of a scalar with a tag, in its full form (`tag:yaml.org,2002:int`).
 * @throws YamlError when the text is not of that type
 */
export function taggedValue(tag: string, text: string): unknown {
  const type = tag.startsWith(TAG_PREFIX) ? tag.slice(TAG_PREFIX.length) : undefined
  switch (type) {
    case "bool":
    case "int":
    case "float":
    case "null": {
      const value = plainValue(text)
      if (typeOf(value) === type || (type === "float" && typeOf(value) === "int")) return value
      throw new YamlError(`yaml: cannot decode ${typeName(value)} \`${text}\` as a !!${type}`)
    }
    case "binary":
      return binaryOf(text)
    default:
      return text
  }
}

function typeOf(value: unknown): "bool" | "int" | "float" | "null" | "str" {
  if (value === null) return "null"
  if (typeof value === "boolean") return "bool"
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float"
  return value instanceof ExactNumber ? "int" : "str"
}
const typeName = (value: unknown): string => (value === null ? "!!null" : (NAMES[typeof value] ?? "!!int"))

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

function binaryOf(text: string): string {
  const base64 = text.replaceAll(/[\r\n]/g, "")
  if (!BASE64.test(base64)) throw new YamlError("yaml: !!binary value contains invalid base64 data")
  return Buffer.from(base64, "base64").toString("utf8")
}
