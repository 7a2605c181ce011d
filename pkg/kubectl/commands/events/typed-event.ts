import { goMetadata, inOrder, type Json } from "../../printers/go-order.ts"
import { typedObject } from "../../printers/printer.ts"
import type { Unstructured } from "../../rest/json.ts"

/** The fields of Go's structs, in their order. Those with a value here are printed though they are not set. */
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
    metadata: goMetadata((typed["metadata"] ?? {}) as Json),
    involvedObject: inOrder(REFERENCE, (typed["involvedObject"] ?? {}) as Json),
  }) as Unstructured
}

export const typedEventList = (items: readonly Unstructured[]): Unstructured & { items: Unstructured[] } =>
  typedObject({ kind: "EventList", apiVersion: "v1", metadata: {}, items: items.map(typedEvent) })
