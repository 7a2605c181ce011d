import { at, atKey } from "../validation/field-errors.ts"
import { membersOf, type JsonSchema } from "./json-schema.ts"

/** A field that a path such as `.spec.containers['a.b']` names, and its schema. */
export interface NamedField {
  /** The path as errors show it. */
  readonly path: string
  /** Undefined for the value of a map that accepts anything. */
  readonly schema: JsonSchema | undefined
  readonly steps: readonly string[]
}

const TOKENS = /'(?:[^'\\]|\\.|(?<=\\)')*'|[.[\]]|[^.[\]]+/gs

/**
 * Returns the field that a path names below a schema; a message when it names none. Source: apiextensions-apiserver
 * pkg/apiserver/schema/cel/validation.go ValidFieldPath.
 */
export function fieldAt(jsonPath: string, root: JsonSchema, allowsIndex = true): NamedField | string {
  const tokens = jsonPath.match(TOKENS) ?? []
  let schema: JsonSchema | undefined = root
  let path = ""
  const steps: string[] = []
  const enter = (name: string): string | undefined => {
    if (schema?.properties !== undefined) {
      if (!Object.hasOwn(schema.properties, name)) return "does not refer to a valid field"
      schema = schema.properties[name]
      path = at(path, name)
    } else if (schema?.additionalProperties !== undefined) {
      schema = membersOf(schema)
      path = atKey(path, name)
    } else return "does not refer to a valid field"
    steps.push(name)
    return undefined
  }
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!
    if (token !== "[" && token !== ".") return `expected [ or . but got: ${token}`
    if (token === "[" && !allowsIndex) return "array notation is not allowed"
    let name = tokens[++i]
    if (name === undefined) return "unexpected end of JSON path"
    if (token === "[") {
      if (!/^'.*'$/s.test(name)) return `expected single quoted string but got ${name}`
      name = name.slice(1, -1).replace(/\\(.)/gs, "$1")
    }
    const problem = enter(name)
    if (problem !== undefined) return problem
    if (token === ".") continue
    const end = tokens[++i]
    if (end === undefined) return "unexpected end of JSON path"
    if (end !== "]") return `expected ] but got ${end}`
  }
  return { path, schema, steps }
}
