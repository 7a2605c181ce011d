import type { Application } from "./application.ts"
import { quote } from "./faults.ts"
import { formatFault } from "./formats.ts"
import { isSame } from "./same-json.ts"

const TYPES = ["null", "boolean", "number", "integer", "string", "array", "object"]

/** Returns the type of a value in JSON. */
const typeOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value)

const shown = (value: unknown): string =>
  typeof value === "string" ? quote(value) : value === null ? "<nil>" : String(value)
const isContainer = (value: unknown): boolean => typeof value === "object" && value !== null

/** Returns why a value is refused by `type`, `const`, `enum` or `format`, after which no other keyword counts. */
export function refusal({ schema, node, evaluation }: Application, value: unknown): string | undefined {
  const { work, set } = evaluation
  const { version } = node.resource.draft
  const { type } = schema
  const wanted = TYPES.filter((one) => (Array.isArray(type) ? type.includes(one) : type === one))
  const got = typeOf(value)
  const fits = wanted.includes(got) || (wanted.includes("integer") && Number.isInteger(value))
  if (wanted.length > 0 && !fits) return `got ${got}, want ${wanted.join(" or ")}`
  if (version >= 6 && "const" in schema && !isSame(value, schema["const"], work))
    return isContainer(schema["const"]) ? "'const' failed" : `value must be ${shown(schema["const"])}`
  const { enum: allowed, format } = schema
  if (Array.isArray(allowed) && !allowed.some((one) => isSame(value, one, work))) {
    if (allowed.some(isContainer)) return "'enum' failed"
    const list = allowed.map(shown).join(", ")
    return allowed.length === 1 ? `value must be ${list}` : `value must be one of ${list}`
  }
  if (typeof format !== "string" || typeof value !== "string" || !assertsFormats(version, node.document.url))
    return undefined
  work.read(value.length)
  const fault = format === "regex" ? patternFault(value, set) : formatFault(format, value)
  return fault === undefined ? undefined : `${quote(value)} is not valid ${format}: ${fault}`
}

/** In the newest drafts formats are only told, except of schemas themselves. */
const assertsFormats = (version: number, url: string): boolean =>
  version < 2019 || url.startsWith("https://json-schema.org/")

function patternFault(source: string, set: Application["evaluation"]["set"]): string | undefined {
  try {
    set.pattern(source)
    return undefined
  } catch (err) {
    return (err as Error).message
  }
}
