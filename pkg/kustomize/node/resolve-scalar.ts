import { exactInteger, type ExactNumber } from "../../apimachinery/json/exact-number.ts"
import { Style, Tag, type YamlNode } from "./yaml-node.ts"
import { timestampOf } from "./timestamp.ts"

/** The type and the value of a scalar. Times are values as text in the form of RFC 3339. */
export interface Resolved {
  readonly tag: string
  readonly value: string | number | boolean | null | ExactNumber
}

const WORDS: ReadonlyMap<string, Resolved> = new Map<string, Resolved>([
  ...["true", "True", "TRUE"].map((word) => [word, { tag: Tag.bool, value: true }] as const),
  ...["false", "False", "FALSE"].map((word) => [word, { tag: Tag.bool, value: false }] as const),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, { tag: Tag.null, value: null }] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, { tag: Tag.float, value: NaN }] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map(
    (word) => [word, { tag: Tag.float, value: Infinity }] as const,
  ),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, { tag: Tag.float, value: -Infinity }] as const),
  ["<<", { tag: Tag.merge, value: "<<" }],
])

const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/
const INTEGER = /^([-+]?)(0[xX][\da-fA-F]+|0[oO][0-7]+|0[0-7]+|0[bB][01]+|0|[1-9][0-9]*)$/
const [LEAST_INT64, MOST_UINT64] = [-(2n ** 63n), 2n ** 64n - 1n]

/**
 * Returns what a scalar without quotes and tag is. Differs from YAML 1.1 in that `yes` and `on` are text. Source:
 * go.yaml.in/yaml/v3 resolve.go.
 */
export function resolvePlain(text: string): Resolved {
  const word = WORDS.get(text)
  if (word !== undefined) return word
  const first = text.charCodeAt(0)
  // A number begins with a digit, a sign or a point.
  const isNumeric = (first >= 48 && first <= 57) || first === 43 || first === 45 || first === 46
  return (isNumeric ? numericOf(text) : undefined) ?? { tag: Tag.text, value: text }
}

function numericOf(text: string): Resolved | undefined {
  if (text.startsWith(".")) {
    const value = FLOAT.test(text) ? Number(text) : NaN
    return Number.isFinite(value) ? { tag: Tag.float, value } : undefined
  }
  const time = timestampOf(text)
  if (time !== undefined) return { tag: Tag.timestamp, value: time }
  const plain = text.replaceAll("_", "")
  const [, sign, digits] = INTEGER.exec(plain) ?? []
  if (digits !== undefined && digits.length <= 70) {
    const value = integerOf(digits) * (sign === "-" ? -1n : 1n)
    if (value >= LEAST_INT64 && value <= MOST_UINT64) return { tag: Tag.int, value: exactInteger(value) }
  }
  const value = FLOAT.test(plain) ? Number(plain) : NaN
  return Number.isFinite(value) ? { tag: Tag.float, value } : undefined
}

/** Parses an integer. `017` and `0o17` are octal; the other prefixes are JavaScript's. */
const integerOf = (digits: string): bigint =>
  BigInt(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits.toLowerCase())

/**
 * Returns the value of a scalar with a tag.
 * @throws Error in go-yaml's words when the text is not of that type
 */
export function resolveTagged(tag: string, text: string): Resolved {
  switch (tag) {
    case Tag.null:
    case Tag.bool:
    case Tag.int:
    case Tag.float:
    case Tag.timestamp: {
      const resolved = resolvePlain(text)
      if (resolved.tag === tag) return resolved
      if (tag === Tag.float && resolved.tag === Tag.int) return { tag, value: resolved.value }
      throw new Error(`yaml: cannot decode ${resolved.tag} \`${text}\` as a ${tag}`)
    }
    default:
      return { tag, value: text }
  }
}

const QUOTED = Style.single | Style.double | Style.literal | Style.folded

/** Returns what a scalar is, by its tag, its style and its text. */
export function resolved({ tag, value, style }: YamlNode): Resolved {
  if (tag !== Tag.none) return resolveTagged(tag, value)
  const isText = (style & QUOTED) !== 0 || value.includes("\n")
  return isText ? { tag: Tag.text, value } : resolvePlain(value)
}
