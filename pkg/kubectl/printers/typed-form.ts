import { basicZeroOf } from "../../apimachinery/decoding/decoder-zeros.ts"
import type { FieldSpec, Message, Type } from "../../apimachinery/field-spec.ts"
import { canonicalQuantity } from "../../apimachinery/scalars/quantity.ts"
import { builtinResource } from "../patch/builtin-meta.ts"
import { parseGroupVersion, type Unstructured } from "../rest/json.ts"
import { typedObject } from "./printer.ts"

type Values = Readonly<Record<string, unknown>>

/** Fields that are structs by value in Go, which writes them also when they are empty. */
const BY_VALUE: Readonly<Record<string, readonly string[]>> = {
  Container: ["resources"],
  EphemeralContainer: ["resources"],
  PodTemplateSpec: ["metadata", "spec"],
  DeploymentSpec: ["template", "strategy"],
  DaemonSetSpec: ["template", "updateStrategy"],
  StatefulSetSpec: ["template", "updateStrategy"],
  ReplicaSetSpec: ["template"],
  JobSpec: ["template"],
  JobTemplateSpec: ["metadata", "spec"],
  CronJobSpec: ["jobTemplate"],
  PersistentVolumeClaim: ["metadata", "spec", "status"],
  PersistentVolumeClaimSpec: ["resources"],
  ServicePort: ["targetPort"],
  ServiceStatus: ["loadBalancer"],
}

/**
 * Returns an object as kubectl prints one that it has read into a Go struct: fields in the order of declaration,
 * unknown and empty ones left out, but for structs by value. Objects of other kinds stay as they are.
 */
export async function typedForm(object: Unstructured): Promise<Unstructured> {
  const { kind = "", apiVersion = "" } = object
  const resource = await builtinResource({ ...parseGroupVersion(apiVersion), kind })
  if (resource === undefined) return object
  return typedObject({ kind, apiVersion, ...formOf(resource.schema, object, ["metadata", "spec", "status"]) })
}

function formOf(
  message: Message,
  values: Values,
  byValue = BY_VALUE[message.name.split(".").at(-1)!] ?? [],
): Record<string, unknown> {
  const fields = Object.entries(message.fields).flatMap(([name, { spec }]): (readonly [string, unknown])[] => {
    const given = values[name] ?? undefined
    const zero = spec.type.kind === "intOrString" ? 0 : {}
    const value = byValue.includes(name) ? valueOf(spec.type, given ?? zero) : fieldOf(spec, given)
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(fields)
}

/** Undefined for a field that is left out. */
function fieldOf(spec: FieldSpec, value: unknown): unknown {
  const { type, pointer = false, printZero = false, orNull = false } = spec
  if (value !== undefined && (pointer || printZero || !isEmpty(type, value))) return valueOf(type, value)
  if (orNull) return null
  return printZero ? basicZeroOf(type) : undefined
}

function isEmpty({ kind }: Type, value: unknown): boolean {
  if (kind === "list" || kind === "map") return Object.keys(value as object).length === 0
  return value === "" || value === 0 || value === false
}

function valueOf(type: Type, value: unknown): unknown {
  if (type.kind === "quantity") return canonicalQuantity(String(value)) ?? value
  if (typeof value !== "object" || value === null) return value
  if (type.kind === "message") return formOf(type.message(), value as Values)
  if (type.kind === "list") return Array.isArray(value) ? value.map((item) => valueOf(type.of, item)) : value
  if (type.kind !== "map") return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, item]) => [key, valueOf(type.of, item)]))
}
