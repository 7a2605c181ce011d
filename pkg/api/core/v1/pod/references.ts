/** The objects that a pod and its volumes refer to; the node that runs the pod may read them. */
import type { PersistentVolume } from "../persistentvolume/persistentvolume.ts"
import type { Pod } from "./pod.ts"

type Volume = NonNullable<Pod["spec"]["volumes"]>[number]

const containersOf = ({ spec }: Pod) => [
  ...spec.containers,
  ...(spec.initContainers ?? []),
  ...(spec.ephemeralContainers ?? []),
]
const volumesOf = ({ spec }: Pod): readonly Volume[] => spec.volumes ?? []

/** Called with each name; undefined where a place names nothing. */
type Visit = (name: string | undefined) => void

/** A pod with fewer volumes, sources and variables is searched. */
const LONG = 100

/**
 * Returns a function that tells whether a pod refers to an object by one of the names that `visitNames` finds. Those of
 * a long pod are kept: a node that asks for each of 50,000 objects would be answered in time of their square.
 */
function references(visitNames: (pod: Pod, visit: Visit) => void): (pod: Pod, name: string) => boolean {
  const known = new WeakMap<Pod, ReadonlySet<string | undefined>>()
  return (pod, name) => {
    if (lengthOf(pod) < LONG) {
      let isFound = false
      visitNames(pod, (each) => {
        if (each === name) isFound = true
      })
      return isFound
    }
    let names = known.get(pod)
    if (names === undefined) {
      const found = new Set<string | undefined>()
      visitNames(pod, (each) => void found.add(each))
      known.set(pod, (names = found))
    }
    return names.has(name)
  }
}

function lengthOf(pod: Pod): number {
  let length = volumesOf(pod).length + (pod.spec.imagePullSecrets?.length ?? 0)
  if (length >= LONG) return length
  for (const { projected } of volumesOf(pod)) length += projected?.sources?.length ?? 0
  for (const containers of [pod.spec.containers, pod.spec.initContainers, pod.spec.ephemeralContainers])
    for (const { env, envFrom } of containers ?? []) length += 1 + (env?.length ?? 0) + (envFrom?.length ?? 0)
  return length
}

/** Source: pkg/api/v1/pod/util.go VisitPodSecretNames. */
export const usesSecret = references((pod, visit) => {
  for (const { name } of pod.spec.imagePullSecrets ?? []) visit(name)
  for (const volume of volumesOf(pod)) visitSecrets(volume, visit)
  for (const { env, envFrom } of containersOf(pod)) {
    for (const { valueFrom } of env ?? []) visit(valueFrom?.secretKeyRef?.name)
    for (const { secretRef } of envFrom ?? []) visit(secretRef?.name)
  }
})

function visitSecrets(volume: Volume, visit: Visit): void {
  const { secret, projected, azureFile, cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos, csi } = volume
  visit(secret?.secretName)
  for (const source of projected?.sources ?? []) visit(source.secret?.name)
  visit(azureFile?.secretName)
  for (const source of [cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos]) visit(source?.secretRef?.name)
  visit(csi?.nodePublishSecretRef?.name)
}

/** Source: pkg/api/v1/pod/util.go VisitPodConfigmapNames. */
export const usesConfigMap = references((pod, visit) => {
  for (const { configMap, projected } of volumesOf(pod)) {
    visit(configMap?.name)
    for (const source of projected?.sources ?? []) visit(source.configMap?.name)
  }
  for (const { env, envFrom } of containersOf(pod)) {
    for (const { valueFrom } of env ?? []) visit(valueFrom?.configMapKeyRef?.name)
    for (const { configMapRef } of envFrom ?? []) visit(configMapRef?.name)
  }
})

/** Whether the pod uses the claim. The claim of an ephemeral volume is named `<pod>-<volume>`. */
export const usesClaim = references((pod, visit) => {
  for (const { name, persistentVolumeClaim, ephemeral } of volumesOf(pod)) {
    visit(persistentVolumeClaim?.claimName)
    if (ephemeral !== undefined) visit(`${pod.metadata.name ?? ""}-${name}`)
  }
})

/** Source: k8s.io/dynamic-resource-allocation resourceclaim Name. */
export const usesResourceClaim = ({ spec, status }: Pod, name: string): boolean =>
  spec.resourceClaims?.some(
    (claim) =>
      claim.resourceClaimName === name ||
      status?.resourceClaimStatuses?.some((made) => made.name === claim.name && made.resourceClaimName === name) ===
        true,
  ) === true || status?.extendedResourceClaimStatus?.resourceClaimName === name

/**
 * Whether the kubelet needs a Secret to mount a PersistentVolume. A Secret without a namespace is in the namespace of
 * the claim. Source: pkg/api/v1/persistentvolume/util.go.
 */
export function volumeUsesSecret({ spec }: PersistentVolume, namespace: string | undefined, name: string): boolean {
  const { azureFile, cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos, csi, claimRef } = spec
  const refs = [
    azureFile && { name: azureFile.secretName, namespace: azureFile.secretNamespace },
    ...[cephfs, flexVolume, rbd, scaleIO, iscsi].map((source) => source?.secretRef),
    cinder?.secretRef,
    storageos?.secretRef,
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    csi?.nodeExpandSecretRef,
  ]
  return refs.some((ref) => ref?.name === name && (ref.namespace || claimRef?.namespace) === namespace)
}
