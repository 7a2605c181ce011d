import { ExactNumber } from "./exact-number.ts"
import { endOfString } from "./json-members.ts"

/**
 * JSON that a field keeps as text (runtime.RawExtension), since upstream's controllers compare it byte by byte. The
 * text is the output of Go's encoder: no space between tokens, and `<`, `>`, `&` and two line separators escaped;
 * numbers, the order of keys and other escapes stay as they were written.
 */
export class RawJson {
  readonly text: string
  #value: unknown

  private constructor(text: string) {
    this.text = text
  }

  /** Makes it from JSON that a client wrote. @throws SyntaxError when it is invalid */
  static from(text: string): RawJson {
    const raw = new RawJson(compacted(text))
    raw.#value = JSON.parse(text)
    return raw
  }

  /** Makes it from a value, with sorted keys as Go writes a map. */
  static of(value: unknown): RawJson {
    return new RawJson(canonicalJson(value))
  }

  /** The parsed value. */
  get value(): unknown {
    return (this.#value ??= JSON.parse(this.text))
  }

  /** For encoders to which the text does not matter; `objectJson` writes the text itself. */
  toJSON(): unknown {
    return this.value
  }
}

const ESCAPED_BY_GO = /[<>&\u2028\u2029]/g
const escapedByGo = (text: string): string =>
  text.replace(ESCAPED_BY_GO, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** Removes the space between tokens. Source: encoding/json compact. */
function compacted(text: string): string {
  let out = ""
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at)
    const between = quote === -1 ? text.length : quote
    out += text.slice(at, between).replace(/[ \t\r\n]+/g, "")
    at = quote === -1 ? text.length : endOfString(text, quote) + 1
    out += escapedByGo(text.slice(between, at))
  }
  return out
}

/** Returns JSON with sorted keys, as Go's encoding/json writes a map. */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return escapedByGo(JSON.stringify(value.toWellFormed()))
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  if (value instanceof RawJson) return value.text
  if (value instanceof ExactNumber) return value.text
  const entries = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, inner]) => `${canonicalJson(key)}:${canonicalJson(inner)}`).join(",")}}`
}
