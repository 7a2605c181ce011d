import { isJsonObject } from "../../apimachinery/json/json-value.ts"
import { goFloat } from "../../go-fmt/go-number.ts"
import { sprintf } from "../../go-fmt/sprintf.ts"
import type { ApiObject, ResourcePath } from "./describe-client.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeMetadata } from "./metadata.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"

/** Fields that are shown at the head, and one that says nothing to people. */
const SKIPPED: ReadonlySet<string> = new Set([
  ".metadata.managedFields",
  ".metadata.name",
  ".metadata.namespace",
  ".metadata.labels",
  ".metadata.annotations",
])

/** Returns the describer of a kind that has none of its own: it writes all fields in the order of their names. */
export const genericDescriber =
  (path: ResourcePath): Describer =>
  async (describing, namespace, name) => {
    const object = await describing.client.get<ApiObject>(path, namespace, name)
    const events = await eventsOf(describing, object)
    return description((w) => {
      describeMetadata(w, object.metadata)
      describeFields(w, 0, object, "")
      describeEvents(w, events, describing.now())
    })
  }

function describeFields(w: PrefixWriter, level: number, content: object, prefix: string): void {
  for (const [field, value] of Object.entries(content).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const path = `${prefix}.${field}`
    if (SKIPPED.has(path)) continue
    if (isJsonObject(value)) {
      w.row(level, `${labelOf(field)}:`)
      describeFields(w, level + 1, value, path)
    } else if (Array.isArray(value)) {
      w.row(level, `${labelOf(field)}:`)
      for (const item of value as readonly unknown[])
        if (isJsonObject(item)) describeFields(w, level + 1, item, path)
        else w.row(level + 1, valueText(item))
    } else w.row(level, `${labelOf(field)}:`, valueText(value))
  }
}

/** Returns a value as Go's `%v` writes it. A number that is no int64 is a float64. */
const valueText = (value: unknown): string =>
  sprintf("%v", [typeof value === "number" && Math.abs(value) >= 2 ** 63 ? goFloat(value) : value])

const ACRONYMS: ReadonlySet<string> = new Set(["API", "URL", "UID", "GUID"])

/**
 * Returns the label of a field: `podCIDR` becomes `Pod CIDR`. Names with other characters than letters and `-` stay as
 * they are. Source: smartLabelFor in kubectl pkg/describe.
 */
export function labelOf(field: string): string {
  if (/[^\p{L}-]/u.test(field)) return field
  const words: string[] = []
  const parts = camelCaseParts(field)
  for (let i = 0; i < parts.length; i++) {
    const [part, next] = [parts[i]!, parts[i + 1]]
    // `URLs` is split into `UR` and `Ls`, which belong together.
    if (next !== undefined && isCapitals(part) && /^\p{Lu}/u.test(next)) {
      words.push(part + next)
      i++
    } else words.push(part)
  }
  return words
    .map((word) => {
      if (ACRONYMS.has(word.toUpperCase())) return word.toUpperCase()
      return word.toLowerCase() === word ? word.charAt(0).toUpperCase() + word.slice(1) : word
    })
    .join(" ")
}

const isCapitals = (word: string): boolean => word.length >= 2 && !/[\p{L}](?<!\p{Lu})/u.test(word)

/** Splits a name where the case of its letters changes: `PDFLoader` into `PDF` and `Loader`. Source: fatih/camelcase. */
function camelCaseParts(name: string): string[] {
  const parts: string[] = name.match(/\p{Ll}+|\p{Lu}+|\p{Nd}+|[^\p{Ll}\p{Lu}\p{Nd}]+/gu) ?? []
  for (let i = 0; i + 1 < parts.length; i++) {
    const [part, next] = [parts[i]!, parts[i + 1]!]
    if (!/^\p{Lu}/u.test(part) || !/^\p{Ll}/u.test(next)) continue
    parts[i + 1] = part.slice(-1) + next
    parts[i] = part.slice(0, -1)
  }
  return parts.filter((part) => part !== "")
}
