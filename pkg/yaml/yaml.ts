import { MOST_LEVELS } from "./node-reader.ts"
import { Parser } from "./parser.ts"
import { YamlError, type Mark } from "./cursor.ts"

export { YamlError } from "./cursor.ts"

export interface ParsedYaml {
  /** Plain JSON. Values of aliases are shared, so they must not be changed in place. */
  readonly value: unknown
  /** Messages about keys that occur twice: `line 4: key "a" already set in map`. */
  readonly duplicates: readonly string[]
}

/** Matches codes that YAML does not allow at all. */
const CONTROL = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ud800-\udfff\ue000-\ufffd]/

/**
 * Returns the first document of a text as plain JSON, as Kubernetes reads it: scalars of YAML 1.1 (`yes` is true), but
 * neither its times nor its numbers of base 60; keys become text. Source of the behaviour: sigs.k8s.io/yaml over
 * go.yaml.in/yaml/v2. Takes time linear in the length of the text, whatever its content.
 * @throws YamlError in go-yaml's words
 */
export function parseYaml(text: string): ParsedYaml {
  const control = text.search(CONTROL)
  if (control !== -1) throw new YamlError("yaml: control characters are not allowed", markAt(text, control))
  const parser = new Parser(text)
  const value = documentOf(parser)
  if (INFINITE.test(text)) refuseInfinite(value)
  return { value, duplicates: parser.duplicates }
}

function documentOf(parser: Parser): unknown {
  try {
    return parser.document()
  } catch (err) {
    if (err instanceof YamlError) throw new YamlError(err.message, parser.mark)
    // The nesting was too deep for the stack.
    throw err instanceof RangeError ? new YamlError(`yaml: exceeded max depth of ${MOST_LEVELS}`, parser.mark) : err
  }
}

function markAt(text: string, at: number): Mark {
  const before = text.slice(0, at)
  return { at, line: before.split("\n").length - 1, column: at - before.lastIndexOf("\n") - 1 }
}

const INFINITE = /\.(?:inf|nan)/i

/** JSON has no infinite numbers and no NaN. */
function refuseInfinite(value: unknown): void {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new YamlError(`json: unsupported value: ${Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf"}`)
  if (typeof value === "object" && value !== null) for (const item of Object.values(value)) refuseInfinite(item)
}
