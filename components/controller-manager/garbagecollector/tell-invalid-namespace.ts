import { goQuoted } from "../../../pkg/apimachinery/go/go-text.ts"
import type { OwnerReference } from "../../../pkg/apimachinery/meta.ts"
import type { EventRecorder } from "../../../pkg/controller/events.ts"
import type { Node } from "./graph.ts"

/**
 * Writes the Event about an object whose owner is in another namespace. Source: reportInvalidNamespaceOwnerRef in
 * pkg/controller/garbagecollector/graph_builder.go.
 */
export function tellInvalidNamespace(node: Node, owner: OwnerReference, events: EventRecorder): void {
  const { resource, uid, name, namespace } = node
  const { apiVersion, kind } = owner
  events.event(
    { apiVersion: resource.apiVersion, kind: resource.kind, metadata: { name, uid, namespace } },
    "Warning",
    "OwnerRefInvalidNamespace",
    `ownerRef [${apiVersion}/${kind}, namespace: ${namespace ?? ""}, name: ${owner.name}, uid: ${owner.uid}] ` +
      `does not exist in namespace ${goQuoted(namespace ?? "")}`,
  )
}
