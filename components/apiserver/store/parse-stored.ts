import { RESOURCES } from "../../../pkg/api/resources.ts"
import { rawFieldsOf, withRawFields } from "../../../pkg/apimachinery/json/raw-fields.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { parseOwnJson } from "../codec/json.ts"

const KEPT_AS_WRITTEN = RESOURCES.map(({ prefix, schema }) => ({ prefix, names: rawFieldsOf(schema) })).filter(
  ({ names }) => names.length > 0,
)

const BUILTIN: ReadonlySet<string> = new Set(RESOURCES.map(({ prefix }) => prefix))
/** The index behind `/registry/<group>/<plural>/`. */
const endOfPrefix = (key: string): number => key.indexOf("/", key.indexOf("/", key.indexOf("/", 1) + 1) + 1) + 1

/** Parses the stored JSON of an object. Raw fields of the schema keep their JSON text as it was written. */
export function parseStored(key: string, json: string): KubeObject {
  // Only custom objects can have integers that JavaScript would round.
  if (!BUILTIN.has(key.slice(0, endOfPrefix(key)))) return parseOwnJson(json) as KubeObject
  const value: unknown = JSON.parse(json)
  const names = KEPT_AS_WRITTEN.find(({ prefix }) => key.startsWith(prefix))?.names ?? []
  return withRawFields(value, json, names) as KubeObject
}
