import { basicZeroOf } from "../../apimachinery/decoding/decoder-zeros.ts"
import type { FieldSpec, Message, Type } from "../../apimachinery/field-spec.ts"
import { canonicalQuantity } from "../../apimachinery/scalars/quantity.ts"
import { builtinResource } from "../patch/builtin-meta.ts"
import { parseGroupVersion, type Unstructured } from "../rest/json.ts"
import { goneSchema } from "./gone-versions.ts"
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

/** What Go writes of fields that are absent; a selector only where a version asks for one. */
const WHERE_ABSENT: Readonly<Record<string, Values>> = {
  DeploymentSpec: { selector: null },
  DaemonSetSpec: { selector: null },
  StatefulSetSpec: { selector: null, serviceName: "" },
  ReplicaSetSpec: { selector: null },
}

/**
 * Returns an object as kubectl prints one that it has read into a Go struct: fields in the order of declaration,
 * unknown and empty ones left out, but for structs by value. Objects of other kinds stay as they are.
 */
export async function typedForm(object: Unstructured): Promise<Unstructured> {
  const { kind = "", apiVersion = "" } = object
  const known = { ...parseGroupVersion(apiVersion), kind }
  const schema = (await builtinResource(known))?.schema ?? (await goneSchema(known))
  if (schema === undefined) return object
  return typedObject({ kind, apiVersion, ...formOf(schema, object, ["metadata", "spec", "status"]) })
}

function formOf(message: Message, values: Values, byValue = BY_VALUE[nameOf(message)] ?? []): Record<string, unknown> {
  const whereAbsent = WHERE_ABSENT[nameOf(message)] ?? {}
  const fields = Object.entries(message.fields).flatMap(([name, { spec }]): (readonly [string, unknown])[] => {
    const given = values[name] ?? undefined
    const zero = spec.type.kind === "intOrString" ? 0 : {}
    const value = byValue.includes(name) ? valueOf(spec.type, given ?? zero) : fieldOf(spec, given)
    if (value !== undefined) return [[name, value]]
    const { [name]: absent } = whereAbsent
    return absent === undefined || (absent === null && spec.presence !== "required") ? [] : [[name, absent]]
  })
  return Object.fromEntries(fields)
}

const nameOf = ({ name }: Message): string => name.split(".").at(-1)!

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
