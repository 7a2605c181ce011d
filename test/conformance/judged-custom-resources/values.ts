import type { JsonSchema } from "../../../pkg/apimachinery/structural/json-schema.ts"
import type { Choices } from "./choices.ts"

const TEXTS = [
  "a",
  "b",
  "cc",
  "abc",
  "abc-1",
  "",
  "x",
  "A",
  "10.0.0.1",
  "2024-01-02T03:04:05Z",
  "2024-01-02",
  "1h",
  "http://a.b/c",
  "a@b.c",
  "aGk=",
  "much too long for all that",
]
const ODD: readonly unknown[] = [null, "text", 7, -3, 1.5, true, [], {}, ["a"], { a: 1 }, "", 0, 3000000000]

/** A random value for a schema. It is what the schema wants, but for one part in some twenty. */
export function valueOf(choices: Choices, schema: JsonSchema, depth = 0): unknown {
  if (choices.onceIn(22)) return choices.one(ODD)
  if (schema.nullable === true && choices.onceIn(5)) return null
  if (schema["x-kubernetes-int-or-string"] === true) return choices.one<unknown>([1, "a", "50%", 0])
  switch (schema.type) {
    case "integer":
      return choices.one([6, 10, 20, 2, 0, 7, 55, 120, -1])
    case "number":
      return choices.one([1.5, 3, 10.25, 0, 11, -20.5])
    case "boolean":
      return choices.onceIn(2)
    case "string":
      return schema.enum === undefined || choices.onceIn(8) ? choices.one(TEXTS) : choices.one(schema.enum)
    case "array":
      return Array.from({ length: choices.upTo(4) }, () => valueOf(choices, schema.items as JsonSchema, depth + 1))
    case "object":
      return objectOf(choices, schema, depth)
    default:
      return choices.one(ODD)
  }
}

function objectOf(choices: Choices, schema: JsonSchema, depth: number): unknown {
  const value: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    if (schema.required?.includes(name) === true ? !choices.onceIn(12) : !choices.onceIn(3))
      value[name] = valueOf(choices, property, depth + 1)
  if (typeof schema.additionalProperties === "object")
    for (const name of ["p", "q", "r"].slice(0, choices.upTo(4)))
      value[name] = valueOf(choices, schema.additionalProperties, depth + 1)
  if (choices.onceIn(15)) value["unknown"] = choices.one(ODD)
  return value
}

/** A random JSON Patch below `/spec`. */
export function jsonPatchOf(choices: Choices, schema: JsonSchema): readonly object[] {
  const name = choices.one([...Object.keys(schema.properties ?? {}), "zz"])
  const property = schema.properties?.[name] ?? {}
  const path = `/spec/${name}${choices.onceIn(4) ? choices.one(["/0", "/-", "/a", "/p"]) : ""}`
  const op = choices.one(["add", "replace", "remove", "test", "copy"])
  if (op === "remove") return [{ op, path }]
  if (op === "copy") return [{ op, from: path, path: "/spec/a" }]
  return [{ op, path, value: valueOf(choices, property) }]
}
