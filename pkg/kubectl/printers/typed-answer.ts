import type { Message, Type } from "../../apimachinery/field-spec.ts"
import { builtinResource } from "../patch/builtin-meta.ts"
import { parseGroupVersion, type Unstructured } from "../rest/json.ts"
import { typedObject } from "./printer.ts"

/** Formats in which the order of fields is not seen; YAML sorts them itself. */
const WITHOUT_ORDER = ["", "name", "yaml"]

/**
 * Returns an answer of a server as kubectl prints one that it has read into a Go struct: with its fields in the order
 * of declaration, in which a server need not send them. `output` is the format.
 */
export async function typedAnswer(object: Unstructured, output: string): Promise<Unstructured> {
  if (WITHOUT_ORDER.includes(output)) return typedObject(object)
  const { kind = "", apiVersion = "", ...fields } = object
  const resource = await builtinResource({ ...parseGroupVersion(apiVersion), kind })
  if (resource === undefined) return typedObject(object)
  return typedObject({ kind, apiVersion, ...inOrder(resource.schema, fields) })
}

/** Fields that are not declared come last. */
function inOrder({ fields }: Message, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const known = Object.entries(fields).flatMap(([name, { spec }]) =>
    Object.hasOwn(values, name) ? [[name, valueInOrder(spec.type, values[name])] as const] : [],
  )
  const others = Object.entries(values).filter(([name]) => !Object.hasOwn(fields, name))
  return Object.fromEntries([...known, ...others])
}

function valueInOrder(type: Type, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value
  if (type.kind === "message" && !Array.isArray(value))
    return inOrder(type.message(), value as Readonly<Record<string, unknown>>)
  if (type.kind === "list" && Array.isArray(value)) return value.map((item) => valueInOrder(type.of, item))
  if (type.kind !== "map") return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, item]) => [key, valueInOrder(type.of, item)]))
}
