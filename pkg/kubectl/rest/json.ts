import { exactValue } from "../../apimachinery/json/exact-number.ts"
import { jsonFault } from "../../apimachinery/json/json-fault.ts"

export { goJson } from "../../go-fmt/go-json.ts"

/** An object of the API as plain JSON, whose kind may be unknown. */
export interface Unstructured {
  apiVersion?: string
  kind?: string
  metadata?: ObjectMeta
  [field: string]: unknown
}

/** The metadata of an object or a list. */
export interface ObjectMeta {
  name?: string
  namespace?: string
  generateName?: string
  uid?: string
  resourceVersion?: string
  continue?: string
  remainingItemCount?: number
  creationTimestamp?: string | null
  deletionTimestamp?: string | null
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: string[]
  ownerReferences?: OwnerReference[]
  managedFields?: unknown
  generation?: number
  [field: string]: unknown
}

export interface OwnerReference {
  apiVersion?: string
  kind?: string
  name?: string
  uid?: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

/** A number that JavaScript may not hold exactly, or writes in another way. */
const UNUSUAL_NUMBER = /[:[,]\s*-?(?:\d{16,}|\d+\.\d*0(?!\d)|\d+(?:\.\d+)?[eE]|0(?=\s*[,}\]])-)/

/** Reads JSON so that large numbers stay what they are. @throws SyntaxError */
export function parseJson(text: string): unknown {
  return UNUSUAL_NUMBER.test(text) ? JSON.parse(text, exactValue) : JSON.parse(text)
}

/** Reads the JSON of an answer. @throws Error in Go's words */
export function goParsed(bytes: Uint8Array): unknown {
  const text = new TextDecoder().decode(bytes)
  try {
    return parseJson(text)
  } catch (err) {
    throw new Error(jsonFault(text), { cause: err })
  }
}

/** Copies a value with the keys of all its objects in order. Values that know how they are written stay. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== "object" || value === null || "toJSON" in value) return value
  const record = value as Readonly<Record<string, unknown>>
  // Object.keys puts keys that are numbers first; the pairs go through a null-prototype map only where there are some.
  const sorted: Record<string, unknown> = {}
  for (const key of Object.keys(record).sort()) sorted[key] = sortKeys(record[key])
  return sorted
}

/** Whether an object is a list: it has items. Source: apimachinery meta.IsListType over unstructured objects. */
export const isList = (object: Unstructured): object is Unstructured & { items: Unstructured[] } =>
  Array.isArray(object["items"])

/** Splits `apps/v1`; a version alone is of the core group. */
export function parseGroupVersion(groupVersion: string): { readonly group: string; readonly version: string } {
  const at = groupVersion.indexOf("/")
  return at === -1
    ? { group: "", version: groupVersion }
    : { group: groupVersion.slice(0, at), version: groupVersion.slice(at + 1) }
}

export const groupVersionText = (group: string, version: string): string =>
  group === "" ? version : `${group}/${version}`

/** Returns an object that is to be created: without a version of the server. */
export function withoutVersion(object: Unstructured): Unstructured {
  if ((object.metadata?.resourceVersion ?? "") === "") return object
  const { resourceVersion: _, ...metadata } = object.metadata!
  return { ...object, metadata }
}
