import type { Pod } from "../../../../pkg/api/core/v1/pod.ts"
import { Pod as PodResource } from "../../../../pkg/api/core/v1/pod.ts"
import { deepEqual } from "../../../../pkg/apimachinery/equal.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { nodeOf } from "../../authorization/node.ts"
import type { AdmissionAttributes, AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../chain.ts"
import { isMirror, MIRROR_ANNOTATION } from "./pods.ts"

const LEASE_NAMESPACE = "kube-node-lease"
const RESTRICTED_LABELS = "node-restriction.kubernetes.io/"

/** A kubelet writes its own node and the pods on it, and nothing else. Source: plugin/pkg/admission/noderestriction. */
export const nodeRestriction = ({ objects }: AdmissionContext): AdmissionPlugin => ({
  name: "NodeRestriction",
  operations: ["CREATE", "UPDATE", "DELETE"],
  validate(attributes) {
    const node = nodeOf(attributes.user)
    if (node === undefined) return
    const { resource } = attributes
    switch (resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`) {
      case "pods": return checkPod(attributes, node, objects.get(PodResource, { namespace: attributes.namespace, name: attributes.name }))
      case "nodes": return checkNode(attributes, node)
      case "leases.coordination.k8s.io": return only(attributes, node, attributes.namespace === LEASE_NAMESPACE, `can only access leases in the ${JSON.stringify(LEASE_NAMESPACE)} system namespace`)
      case "csinodes.storage.k8s.io": return only(attributes, node, true, "")
    }
  },
})

/** One object, named as the node. */
function only({ resource, name }: AdmissionAttributes, node: string, inPlace: boolean, why: string): void {
  if (!inPlace) throw forbidden(resource, name, why)
  if (name !== node) throw forbidden(resource, name, `node ${JSON.stringify(node)} can only access ${resource.plural === "leases" ? "node lease" : resource.kind} with the same name as the requesting node`)
}

function checkPod({ operation, resource, subresource, name, object }: AdmissionAttributes, node: string, stored: Pod | undefined): void {
  const refuse = (why: string) => forbidden(resource, name, `node ${JSON.stringify(node)} ${why}`)
  if (operation === "DELETE") {
    if (stored !== undefined && stored.spec.nodeName !== node) throw refuse(`can only delete pods with spec.nodeName set to itself`)
    return
  }
  if (subresource === "status") {
    if (stored !== undefined && stored.spec.nodeName !== node) throw refuse(`can only update pod status for pods with spec.nodeName set to itself`)
    if (!deepEqual(stored?.metadata.labels ?? {}, object?.metadata.labels ?? {})) throw refuse("cannot update labels through pod status")
    return
  }
  if (operation === "UPDATE") throw refuse(`cannot update pods`)
  const pod = object as Pod
  if (!isMirror(pod)) throw forbidden(resource, name, `pod does not have ${JSON.stringify(MIRROR_ANNOTATION)} annotation, node ${JSON.stringify(node)} can only create mirror pods`)
  if (pod.spec.nodeName !== node) throw refuse(`can only create pods with spec.nodeName set to itself`)
  const [owner, ...others] = pod.metadata.ownerReferences ?? []
  if (owner === undefined || others.length > 0 || owner.kind !== "Node" || owner.name !== node) throw refuse(`can only create pods with a single owner reference set to itself`)
  if (pod.spec.serviceAccountName !== undefined && pod.spec.serviceAccountName !== "") throw refuse("can not create pods that reference a service account")
  const secret = pod.spec.volumes?.some((volume) => volume.secret !== undefined || volume.configMap !== undefined || volume.persistentVolumeClaim !== undefined || volume.projected !== undefined)
  if (secret === true) throw refuse("can not create pods that reference secrets, configmaps, persistentvolumeclaims or projected volumes")
}

function checkNode({ operation, resource, name, object, old }: AdmissionAttributes, node: string): void {
  const refuse = (why: string) => forbidden(resource, name, why)
  if (name !== node) throw refuse(`node ${JSON.stringify(node)} is not allowed to modify node ${JSON.stringify(name)}`)
  if (operation === "DELETE") throw refuse(`node ${JSON.stringify(node)} is not allowed to delete itself`)
  const restricted = Object.keys({ ...object?.metadata.labels, ...old?.metadata.labels }).filter((key) => isRestricted(key) && object?.metadata.labels?.[key] !== old?.metadata.labels?.[key]).sort()
  if (restricted.length > 0) throw refuse(`is not allowed to modify labels: ${restricted.join(", ")}`)
  if (operation === "UPDATE" && !deepEqual(taintsOf(object), taintsOf(old))) throw refuse(`node ${JSON.stringify(node)} is not allowed to modify taints`)
}

/** Labels under this prefix are an administrator's word about a node; the node itself may not say them. */
const isRestricted = (key: string): boolean => {
  const domain = key.split("/")[0] ?? ""
  return key.includes("/") && (key.startsWith(RESTRICTED_LABELS) || domain.endsWith(".node-restriction.kubernetes.io"))
}

const taintsOf = (object: KubeObject | undefined): unknown => (object as { readonly spec?: { readonly taints?: unknown } } | undefined)?.spec?.taints ?? []
