import { isScalar, LineCounter, parseDocument, visit, type Document } from "yaml"
import { badRequest } from "../../../pkg/apimachinery/errors.ts"
import { KUBERNETES_YAML, MAX_ALIASES } from "../../../pkg/apimachinery/yaml.ts"
import type { Parsed } from "./json.ts"

/** Parses one YAML document as Kubernetes reads it. Throws BadRequest when it is no YAML. */
export function parseYaml(text: string): Parsed {
  const lines = new LineCounter()
  const document = parseDocument(text, { ...KUBERNETES_YAML, lineCounter: lines })
  const [error] = document.errors
  if (error !== undefined)
    throw badRequest(`error converting YAML to JSON: yaml: line ${lines.linePos(error.pos[0]).line}: ${error.message}`)
  try {
    // By way of JSON: an alias of its own container is refused, and what aliases share is made apart.
    return {
      value: JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: MAX_ALIASES }) ?? null)) as unknown,
      faults: duplicateKeys(document, lines),
    }
  } catch (err) {
    throw badRequest(`error converting YAML to JSON: yaml: ${(err as Error).message}`)
  }
}

function duplicateKeys(document: Document.Parsed, lines: LineCounter): readonly string[] {
  const faults: string[] = []
  visit(document, {
    Map(_, map) {
      const seen = new Set<string>()
      for (const { key } of map.items) {
        if (!isScalar(key) || key.value === "<<") continue
        const name = String(key.value)
        if (seen.has(name))
          faults.push(
            `yaml: unmarshal errors:\n  line ${lines.linePos(key.range?.[0] ?? 0).line}: key ${JSON.stringify(name)} already set in map`,
          )
        seen.add(name)
      }
    },
  })
  return faults
}
