import { textOf } from "../../../pkg/yaml/utf8.ts"
import { parseYaml as readYaml, YamlError } from "../../../pkg/yaml/yaml.ts"
import { BodyError } from "./body-error.ts"
import { parseJson, type Parsed } from "./json.ts"

/** Parses one YAML document as Kubernetes does. @throws BodyError when it is no YAML, or cannot be expressed in JSON */
export function parseYaml(bytes: Uint8Array): Parsed {
  try {
    const text = textOf(bytes)
    const json = fromJson(text)
    if (json !== undefined) return json
    const { value, duplicates } = readYaml(text)
    return { value, faults: duplicates.length === 0 ? [] : [`yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`] }
  } catch (err) {
    throw err instanceof YamlError ? new BodyError(err.message) : err
  }
}

/**
 * Parses the text if it is JSON: most YAML bodies are, and JSON is parsed much faster. Returns undefined when the text
 * is no JSON or when YAML could read it differently.
 */
function fromJson(text: string): Parsed | undefined {
  if (text[0] !== "{") return undefined
  try {
    const parsed = parseJson(text)
    return parsed.faults.length > 0 || parsed.isUnusual === true || text.includes("\\/") ? undefined : parsed
  } catch (err) {
    if (err instanceof BodyError) return undefined
    throw err
  }
}
