/**
 * Lets a kubelet write its own Node and the pods on it, and nothing else. Lets the other components of a machine that
 * has joined write local volumes of that machine only. Source: plugin/pkg/admission/noderestriction.
 */
import { PersistentVolume } from "../../../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { ResourceSlice } from "../../../../../pkg/api/resource/v1/resourceslice.ts"
import { deepEqual } from "../../../../../pkg/apimachinery/json/equal.ts"
import { forbidden, qualified } from "../../../../../pkg/apimachinery/errors.ts"
import { asKind } from "../../../../../pkg/apimachinery/resource.ts"
import { nodeOf } from "../../../authorization/node.ts"
import type { AdmissionAttributes, AdmissionPlugin } from "../../admission.ts"
import type { AdmissionContext } from "../../context.ts"
import { checkAnnouncedKey } from "./announced-key.ts"
import { checkCertificateRequest } from "./certificate.ts"
import { checkLocalVolumes, machineOf } from "./local-volumes.ts"
import { checkNode } from "./node.ts"
import { checkPodCertificateRequest } from "./pod-certificate.ts"
import { checkPod } from "./pod.ts"
import { checkToken } from "./token.ts"

const LEASE_NAMESPACE = "kube-node-lease"

export const nodeRestriction = (context: AdmissionContext): AdmissionPlugin => ({
  name: "NodeRestriction",
  operations: ["CREATE", "UPDATE", "DELETE"],
  kinds: [
    "pods",
    "nodes",
    "persistentvolumes",
    "persistentvolumeclaims",
    "serviceaccounts",
    "leases.coordination.k8s.io",
    "csinodes.storage.k8s.io",
    "certificatesigningrequests.certificates.k8s.io",
    "podcertificaterequests.certificates.k8s.io",
    "resourceslices.resource.k8s.io",
  ],
  validate(attributes) {
    const node = nodeOf(attributes.user)
    if (node === undefined) {
      const machine = isOfVolumes(attributes) ? machineOf(attributes.user) : undefined
      return machine === undefined ? undefined : checkLocalVolumes(attributes, machine, context)
    }
    const { resource, operation, subresource, namespace, name, user } = attributes
    if (node === "") throw forbidden(resource, name, `could not determine node from user ${JSON.stringify(user.name)}`)
    switch (qualified(resource)) {
      case "pods":
        return checkPod(attributes, node, context)
      case "nodes":
        checkNode(attributes, node)
        return checkAnnouncedKey(attributes, context)
      case "persistentvolumeclaims":
        return checkClaim(attributes, node)
      case "serviceaccounts":
        return operation === "CREATE" && subresource === "token" ? checkToken(attributes, node, context) : undefined
      case "leases.coordination.k8s.io":
        if (namespace !== LEASE_NAMESPACE)
          throw forbidden(
            resource,
            attributes.name,
            `can only access leases in the ${JSON.stringify(LEASE_NAMESPACE)} system namespace`,
          )
        return namedAs(attributes, node, "node lease")
      case "csinodes.storage.k8s.io":
        return namedAs(attributes, node, "CSINode")
      case "certificatesigningrequests.certificates.k8s.io":
        return checkCertificateRequest(attributes, node)
      case "podcertificaterequests.certificates.k8s.io":
        return checkPodCertificateRequest(attributes, node, context)
      case "resourceslices.resource.k8s.io":
        return checkSlice(attributes, node)
    }
  },
})

const isOfVolumes = ({ resource }: AdmissionAttributes): boolean =>
  resource === PersistentVolume || resource === PersistentVolumeClaim

function namedAs({ resource, name }: AdmissionAttributes, node: string, what: string): void {
  if (name !== node)
    throw forbidden(resource, name, `can only access ${what} with the same name as the requesting node`)
}

/** A node may offer and take back devices of its own only; the node authorizer checks other writes. */
function checkSlice({ resource, name, operation, object, old }: AdmissionAttributes, node: string): void {
  if (operation === "UPDATE") return
  if (asKind(ResourceSlice, operation === "CREATE" ? object : old).spec.nodeName !== node)
    throw forbidden(
      resource,
      name,
      `can only ${operation.toLowerCase()} ResourceSlice with the same NodeName as the requesting node`,
    )
}

/** Allows a node to write the capacity and resize state of a claim's status, and nothing else of the claim. */
function checkClaim({ resource, name, operation, subresource, object, old }: AdmissionAttributes, node: string): void {
  if (subresource !== "status") throw forbidden(resource, name, "may only update PVC status")
  if (operation !== "UPDATE") throw forbidden(resource, name, `unexpected operation ${JSON.stringify(operation)}`)
  if (
    !deepEqual(withoutGrowth(asKind(PersistentVolumeClaim, object)), withoutGrowth(asKind(PersistentVolumeClaim, old)))
  )
    throw forbidden(
      resource,
      name,
      `node ${JSON.stringify(node)} is not allowed to update fields other than status.quantity and status.conditions`,
    )
}

function withoutGrowth({ metadata, spec, status }: PersistentVolumeClaim): object {
  const { resourceVersion: _version, managedFields: _fields, ...kept } = metadata
  const {
    capacity: _capacity,
    conditions: _conditions,
    allocatedResourceStatuses: _statuses,
    allocatedResources: _allocated,
    ...rest
  } = status
  return { metadata: kept, spec, status: rest }
}
