/**
 * Lets the provisioner of local volumes on a machine that has joined write the volumes of that machine, and the claims
 * as far as these volumes need it. Its role covers all volumes, since RBAC knows no nodes. Not in upstream, where one
 * provisioner serves all nodes.
 */
import { Node } from "../../../../../pkg/api/core/v1/node/node.ts"
import { PersistentVolume } from "../../../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { PRE_RESIZE_CAPACITY } from "../../../../../pkg/api/core/v1/persistentvolume/resize-status.ts"
import {
  PROVISIONED_BY,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
} from "../../../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import { LOCAL_PATH, MADE_ON } from "../../../../../pkg/api/storage/v1/local-path.ts"
import { forbidden } from "../../../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../../../pkg/apimachinery/json/equal.ts"
import { asKind } from "../../../../../pkg/apimachinery/resource.ts"
import { MEMBERSHIP_EXTRA, membershipOfUri } from "../../../../../pkg/pki/node-membership.ts"
import { reachedFrom } from "../../../../../pkg/provisioner/volume-maker.ts"
import type { UserInfo } from "../../../call/request.ts"
import type { AdmissionAttributes } from "../../admission.ts"
import type { AdmissionContext } from "../../context.ts"

const HOSTNAME = "kubernetes.io/hostname"

/** Returns the node on whose machine a component acts that has joined; undefined for all other users. */
export const machineOf = ({ extra }: UserInfo): string | undefined =>
  extra === undefined ? undefined : membershipOfUri(extra[MEMBERSHIP_EXTRA]?.[0] ?? "")?.node

/** Refuses what a machine writes of volumes and claims that are not its own. */
export function checkLocalVolumes(attributes: AdmissionAttributes, node: string, context: AdmissionContext): void {
  const { resource, name } = attributes
  const refusal =
    resource.plural === "persistentvolumes"
      ? refusalOfVolume(attributes, node, context)
      : refusalOfClaim(attributes, node, context)
  if (refusal !== undefined) throw forbidden(resource, name, `the machine of node ${JSON.stringify(node)} ${refusal}`)
}

function refusalOfVolume(
  { operation, object, old }: AdmissionAttributes,
  node: string,
  { objects }: AdmissionContext,
): string | undefined {
  if (operation !== "CREATE") {
    const before = asKind(PersistentVolume, old)
    if (!isMadeOn(before, node)) return "can only change volumes that it has made"
    if (operation === "UPDATE" && !deepEqual(withoutGrowth(asKind(PersistentVolume, object)), withoutGrowth(before)))
      return "can only change the capacity and the finalizers of a volume"
    return undefined
  }
  const volume = asKind(PersistentVolume, object)
  const { local, hostPath, nodeAffinity, claimRef } = volume.spec
  const hostname = objects.get(Node, { name: node })?.metadata.labels?.[HOSTNAME] ?? node
  if (!isMadeOn(volume, node) || (local ?? hostPath) === undefined)
    return "can only make local volumes with its name in their annotations"
  if (!deepEqual(nodeAffinity, reachedFrom(HOSTNAME, hostname))) return "can only make volumes that are reached from it"
  const claim = objects.get(PersistentVolumeClaim, { namespace: claimRef?.namespace, name: claimRef?.name })
  const { [STORAGE_PROVISIONER]: provisioner, [SELECTED_NODE]: selected = node } = claim?.metadata.annotations ?? {}
  return claim?.metadata.uid === claimRef?.uid && provisioner === LOCAL_PATH && selected === node
    ? undefined
    : "can only make volumes for claims that wait for it"
}

function refusalOfClaim(
  { operation, subresource, object, old }: AdmissionAttributes,
  node: string,
  { objects }: AdmissionContext,
): string | undefined {
  if (operation !== "UPDATE") return "can only update claims"
  const before = asKind(PersistentVolumeClaim, old)
  if (subresource === "status") {
    const { volumeName = "" } = before.spec
    const volume = volumeName === "" ? undefined : objects.get(PersistentVolume, { name: volumeName })
    return volume !== undefined && isMadeOn(volume, node)
      ? undefined
      : "can only report on claims whose volume it has made"
  }
  const isSame = deepEqual(withoutSelection(asKind(PersistentVolumeClaim, object)), withoutSelection(before))
  return isSame && before.metadata.annotations?.[SELECTED_NODE] === node
    ? undefined
    : "can only release claims that have selected it"
}

const isMadeOn = ({ metadata }: PersistentVolume, node: string): boolean =>
  metadata.annotations?.[PROVISIONED_BY] === LOCAL_PATH && metadata.annotations[MADE_ON] === node

function withoutGrowth({ metadata, spec }: PersistentVolume): object {
  const { [PRE_RESIZE_CAPACITY]: _, ...annotations } = metadata.annotations ?? {}
  const { capacity: _capacity, ...rest } = spec
  return [metadata.labels, metadata.ownerReferences, annotations, rest]
}

function withoutSelection({ metadata, spec }: PersistentVolumeClaim): object {
  const { [SELECTED_NODE]: _, ...annotations } = metadata.annotations ?? {}
  return [metadata.labels, metadata.ownerReferences, metadata.finalizers, annotations, spec]
}
