import { exactValue } from "../../apimachinery/json/exact-number.ts"
import { parseYaml } from "../../yaml/yaml.ts"

/**
 * Yields the documents of a text in YAML or JSON, one by one: an error comes after the documents before it. Source:
 * apimachinery pkg/util/yaml/decoder.go (YAMLOrJSONDecoder).
 */
export function* readDocuments(text: string): Generator<unknown, void, undefined> {
  if (text.trimStart().startsWith("{")) {
    const values = jsonValues(text)
    if (values !== undefined) return yield* values
  }
  for (const document of text.split(/^---[^\n]*\n?/m)) if (document.trim() !== "") yield valueOf(document)
}

function valueOf(document: string): unknown {
  if (document.trimStart().startsWith("{"))
    try {
      return JSON.parse(document, exactValue) as unknown
    } catch {
      // A map of YAML may begin with a brace too.
    }
  try {
    return parseYaml(document).value
  } catch (err) {
    throw new Error(`error converting YAML to JSON: ${(err as Error).message}`, { cause: err })
  }
}

/** The values of a text that is JSON, of which several may follow one another; undefined when it is not JSON. */
function jsonValues(text: string): readonly unknown[] | undefined {
  const values: unknown[] = []
  for (const part of jsonTexts(text)) {
    if (part === undefined) return undefined
    try {
      values.push(JSON.parse(part, exactValue))
    } catch {
      return undefined
    }
  }
  return values
}

/** Splits a text of several objects in JSON; yields undefined where something else comes. */
function* jsonTexts(text: string): Generator<string | undefined, void, undefined> {
  let start = -1
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!
    if (sign === '"' && depth > 0) {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === "\\") at++
    } else if (sign === "{" || sign === "[") {
      if (depth++ === 0) start = at
    } else if (sign === "}" || sign === "]") {
      if (--depth === 0) yield text.slice(start, at + 1)
    } else if (depth === 0 && sign.trim() !== "") return yield undefined
  }
  if (depth !== 0) yield undefined
}
