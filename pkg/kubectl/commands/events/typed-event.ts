import { typedObject } from "../../printers/printer.ts"
import type { Unstructured } from "../../rest/json.ts"

type Json = Readonly<Record<string, unknown>>

/** The fields of Go's structs, in their order. Those with a value here are printed though they are not set. */
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
const REFERENCE: Json = {
  kind: undefined,
  namespace: undefined,
  name: undefined,
  uid: undefined,
  apiVersion: undefined,
  resourceVersion: undefined,
  fieldPath: undefined,
}
const EVENT: Json = {
  kind: "Event",
  apiVersion: "v1",
  metadata: {},
  involvedObject: {},
  reason: undefined,
  message: undefined,
  source: {},
  firstTimestamp: null,
  lastTimestamp: null,
  count: undefined,
  type: undefined,
  eventTime: null,
  series: undefined,
  action: undefined,
  related: undefined,
  reportingComponent: "",
  reportingInstance: "",
}

/** Returns an event with the fields that Go's struct prints, in its order. Source: k8s.io/api core/v1/types.go. */
export function typedEvent(event: Unstructured): Unstructured {
  const typed = inOrder(EVENT, event)
  return typedObject({
    ...typed,
    metadata: inOrder(METADATA, (typed["metadata"] ?? {}) as Json),
    involvedObject: inOrder(REFERENCE, (typed["involvedObject"] ?? {}) as Json),
  }) as Unstructured
}

export const typedEventList = (items: readonly Unstructured[]): Unstructured & { items: Unstructured[] } =>
  typedObject({ kind: "EventList", apiVersion: "v1", metadata: {}, items: items.map(typedEvent) })

function inOrder(fields: Json, given: Json): Json {
  const ordered: Record<string, unknown> = {}
  for (const [name, fallback] of Object.entries(fields)) {
    const value = given[name] ?? fallback
    if (value !== undefined) ordered[name] = value
  }
  return ordered
}
