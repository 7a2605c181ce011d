import { ExactNumber } from "../../apimachinery/json/exact-number.ts"
import { compareText, isGoMap, numberOf } from "../../go-fmt/go-number.ts"

const keyOf = (key: string): string => (/^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key))

function valueOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueOf).join(", ")}]`
  const number = value instanceof ExactNumber ? undefined : numberOf(value)
  if (number !== undefined) {
    const text = String(number.value)
    return number.type === "float64" && /^-?\d+$/.test(text) ? `${text}.0` : text
  }
  if (isGoMap(value))
    return `{${entriesOf(value)
      .map(([key, item]) => `${keyOf(key)} = ${valueOf(item)}`)
      .join(", ")}}`
  return typeof value === "string" ? JSON.stringify(value) : String(value)
}

const entriesOf = (map: Readonly<Record<string, unknown>>) =>
  Object.entries(map)
    .filter(([, value]) => value !== null && value !== undefined)
    .sort(([a], [b]) => compareText(a, b))

const isTables = (value: unknown): value is readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) && value.length > 0 && value.every(isGoMap)

/** Returns a map as TOML: its plain values, then its tables. Source of the form: github.com/BurntSushi/toml. */
export function tomlOf(value: unknown, path: readonly string[] = []): string {
  if (!isGoMap(value)) return "toml: top-level values must be Go maps or structs"
  const indent = "  ".repeat(Math.max(0, path.length))
  const entries = entriesOf(value)
  let out = ""
  for (const [key, item] of entries)
    if (!isGoMap(item) && !isTables(item)) out += `${indent}${keyOf(key)} = ${valueOf(item)}\n`
  for (const [key, item] of entries) {
    const inner = [...path, keyOf(key)]
    const before = out === "" && path.length > 0 ? "" : "\n"
    const start = out === "" ? "" : before
    if (isGoMap(item)) out += `${start}${indent}[${inner.join(".")}]\n${tomlOf(item, inner)}`
    else if (isTables(item))
      for (const each of item) out += `${out === "" ? "" : "\n"}${indent}[[${inner.join(".")}]]\n${tomlOf(each, inner)}`
  }
  return out
}
