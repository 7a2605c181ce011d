import { Node } from "../../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { apiReferenceIn } from "../../../../../pkg/pods/api-references.ts"
import { deepEqual } from "../../../../../pkg/apimachinery/json/equal.ts"
import { forbidden, notFound } from "../../../../../pkg/apimachinery/errors.ts"
import { asKind } from "../../../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes } from "../../admission.ts"
import type { AdmissionContext } from "../../context.ts"
import { isMirror, MIRROR_ANNOTATION } from "../pods.ts"

/** Allows a node to create mirror pods, and to delete, evict and update the status of pods that are bound to it. */
export function checkPod(attributes: AdmissionAttributes, node: string, { objects }: AdmissionContext): void {
  const { operation, resource, subresource, namespace, name } = attributes
  const refuse = (why: string) => forbidden(resource, name, why)
  const stored = (): Pod => {
    const pod = objects.get(Pod, { namespace, name })
    if (pod === undefined) throw notFound(resource, name)
    return pod
  }
  switch (subresource) {
    case "status":
      return checkStatus(attributes, node)
    case "eviction":
      if (operation !== "CREATE") throw refuse(`unexpected operation ${operation}`)
      if (stored().spec.nodeName !== node)
        throw refuse(`node ${node} can only evict pods with spec.nodeName set to itself`)
      return
    case undefined:
      break
    default:
      throw refuse(
        `unexpected pod subresource ${JSON.stringify(subresource)}, only 'status' and 'eviction' are allowed`,
      )
  }
  if (operation === "DELETE") {
    if (stored().spec.nodeName !== node)
      throw refuse(`node ${JSON.stringify(node)} can only delete pods with spec.nodeName set to itself`)
    return
  }
  if (operation !== "CREATE")
    throw refuse(
      `unexpected operation ${JSON.stringify(operation)}, node ${JSON.stringify(node)} can only create and ` +
        "delete mirror pods",
    )
  checkMirror(attributes, node, objects.get(Node, { name: node }))
}

function checkStatus({ operation, resource, name, object, old }: AdmissionAttributes, node: string): void {
  const refuse = (why: string) => forbidden(resource, name, why)
  if (operation !== "UPDATE") throw refuse(`unexpected operation ${JSON.stringify(operation)}`)
  const [now, before] = [asKind(Pod, object), asKind(Pod, old)]
  if (before.spec.nodeName !== node)
    throw refuse(`node ${JSON.stringify(node)} can only update pod status for pods with spec.nodeName set to itself`)
  if (!deepEqual(before.metadata.labels ?? {}, now.metadata.labels ?? {}))
    throw refuse(`node ${JSON.stringify(node)} cannot update labels through pod status`)
  if (!deepEqual(before.status.resourceClaimStatuses ?? [], now.status.resourceClaimStatuses ?? []))
    throw refuse(`node ${JSON.stringify(node)} cannot update resource claim statues`)
  if (!deepEqual(before.status.extendedResourceClaimStatus, now.status.extendedResourceClaimStatus))
    throw refuse(`node ${JSON.stringify(node)} cannot update extended resource claim status`)
}

function checkMirror({ resource, name, object }: AdmissionAttributes, node: string, stored: Node | undefined): void {
  const pod = asKind(Pod, object)
  const quoted = JSON.stringify(node)
  const refuse = (why: string) => forbidden(resource, name, why)
  if (!isMirror(pod))
    throw refuse(
      `pod does not have ${JSON.stringify(MIRROR_ANNOTATION)} annotation, node ${quoted} can only create mirror pods`,
    )
  if (pod.spec.nodeName !== node) throw refuse(`node ${quoted} can only create pods with spec.nodeName set to itself`)
  const owners = pod.metadata.ownerReferences ?? []
  const [owner] = owners
  if (owners.length > 1) throw refuse(`node ${quoted} can only create pods with a single owner reference set to itself`)
  if (owner === undefined || owner.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== node)
    throw refuse(`node ${quoted} can only create pods with an owner reference set to itself`)
  if (owner.controller !== true)
    throw refuse(`node ${quoted} can only create pods with a controller owner reference set to itself`)
  if (owner.blockOwnerDeletion === true)
    throw refuse(`node ${quoted} must not set blockOwnerDeletion on an owner reference`)
  if (stored === undefined) throw notFound(Node, node)
  if (owner.uid !== stored.metadata.uid)
    throw refuse(`node ${node} UID mismatch: expected ${owner.uid} got ${stored.metadata.uid}`)
  const reference = apiReferenceIn(pod)
  if (reference !== undefined) throw refuse(`node ${quoted} can not create pods that reference ${reference}`)
}
