import { sortKeys } from "../rest/json.ts"

export type Json = Readonly<Record<string, unknown>>

/** The fields of Go's ObjectMeta, in their order. */
const METADATA: Json = {
  name: undefined,
  generateName: undefined,
  namespace: undefined,
  selfLink: undefined,
  uid: undefined,
  resourceVersion: undefined,
  generation: undefined,
  creationTimestamp: undefined,
  deletionTimestamp: undefined,
  deletionGracePeriodSeconds: undefined,
  labels: undefined,
  annotations: undefined,
  ownerReferences: undefined,
  finalizers: undefined,
  managedFields: undefined,
}

/** Returns metadata in the order in which Go prints its struct, with labels and annotations in order. */
export function goMetadata(metadata: Json): Json {
  const ordered = inOrder(METADATA, metadata)
  return Object.fromEntries(
    Object.entries(ordered).map(([field, value]) => [
      field,
      field === "labels" || field === "annotations" ? sortKeys(value) : value,
    ]),
  )
}

/** Returns fields in the order of `fields`. Those that are not given are left out, or have the value there. */
export function inOrder(fields: Json, given: Json): Json {
  const ordered: Record<string, unknown> = {}
  for (const [name, fallback] of Object.entries(fields)) {
    const value = given[name] ?? fallback
    if (value !== undefined) ordered[name] = value
  }
  return ordered
}
