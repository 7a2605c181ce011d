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

/** The names of the objects to which a pod refers. */
interface Names {
  readonly secrets: ReadonlySet<string | undefined>
  readonly configMaps: ReadonlySet<string | undefined>
  readonly claims: ReadonlySet<string | undefined>
}

/** A pod with fewer volumes, sources and variables is searched. */
const LONG = 100
/** The names of long pods: a node that asks for each of 50,000 objects would be answered in time of their square. */
const indexes = new WeakMap<Pod, Names>()

/** Returns undefined for a pod that is to be searched. */
function indexOf(pod: Pod): Names | undefined {
  if (lengthOf(pod) < LONG) return undefined
  let names = indexes.get(pod)
  if (names === undefined) indexes.set(pod, (names = namesOf(pod)))
  return names
}

function lengthOf(pod: Pod): number {
  let length = volumesOf(pod).length + (pod.spec.imagePullSecrets?.length ?? 0)
  if (length >= LONG) return length
  for (const { projected } of volumesOf(pod)) length += projected?.sources?.length ?? 0
  for (const containers of [pod.spec.containers, pod.spec.initContainers, pod.spec.ephemeralContainers])
    for (const { env, envFrom } of containers ?? []) length += 1 + (env?.length ?? 0) + (envFrom?.length ?? 0)
  return length
}

function namesOf(pod: Pod): Names {
  const secrets = new Set<string | undefined>()
  const configMaps = new Set<string | undefined>()
  const claims = new Set<string | undefined>()
  for (const { name } of pod.spec.imagePullSecrets ?? []) secrets.add(name)
  for (const volume of volumesOf(pod)) {
    for (const secret of secretsOfVolume(volume)) secrets.add(secret)
    configMaps.add(volume.configMap?.name)
    for (const source of volume.projected?.sources ?? []) configMaps.add(source.configMap?.name)
    claims.add(volume.persistentVolumeClaim?.claimName)
    if (volume.ephemeral !== undefined) claims.add(`${pod.metadata.name ?? ""}-${volume.name}`)
  }
  for (const { env = [], envFrom = [] } of containersOf(pod)) {
    for (const { valueFrom } of env) {
      secrets.add(valueFrom?.secretKeyRef?.name)
      configMaps.add(valueFrom?.configMapKeyRef?.name)
    }
    for (const { secretRef, configMapRef } of envFrom) {
      secrets.add(secretRef?.name)
      configMaps.add(configMapRef?.name)
    }
  }
  return { secrets, configMaps, claims }
}

/** Source: pkg/api/v1/pod/util.go VisitPodSecretNames. */
export const usesSecret = (pod: Pod, name: string): boolean =>
  indexOf(pod)?.secrets.has(name) ??
  (pod.spec.imagePullSecrets?.some((secret) => secret.name === name) === true ||
    volumesOf(pod).some((volume) => secretsOfVolume(volume).includes(name)) ||
    containersOf(pod).some(
      ({ env, envFrom }) =>
        env?.some(({ valueFrom }) => valueFrom?.secretKeyRef?.name === name) === true ||
        envFrom?.some(({ secretRef }) => secretRef?.name === name) === true,
    ))

function secretsOfVolume(volume: Volume): readonly (string | undefined)[] {
  const { secret, projected, azureFile, cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos, csi } = volume
  return [
    secret?.secretName,
    ...(projected?.sources ?? []).map((source) => source.secret?.name),
    azureFile?.secretName,
    ...[cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos].map((source) => source?.secretRef?.name),
    csi?.nodePublishSecretRef?.name,
  ]
}

/** Source: pkg/api/v1/pod/util.go VisitPodConfigmapNames. */
export const usesConfigMap = (pod: Pod, name: string): boolean =>
  indexOf(pod)?.configMaps.has(name) ??
  (volumesOf(pod).some(
    ({ configMap, projected }) =>
      configMap?.name === name || projected?.sources?.some((source) => source.configMap?.name === name) === true,
  ) ||
    containersOf(pod).some(
      ({ env, envFrom }) =>
        env?.some(({ valueFrom }) => valueFrom?.configMapKeyRef?.name === name) === true ||
        envFrom?.some(({ configMapRef }) => configMapRef?.name === name) === true,
    ))

/** Whether the pod uses the claim. The claim of an ephemeral volume is named `<pod>-<volume>`. */
export const usesClaim = (pod: Pod, name: string): boolean =>
  indexOf(pod)?.claims.has(name) ??
  volumesOf(pod).some(
    ({ name: volume, persistentVolumeClaim, ephemeral }) =>
      persistentVolumeClaim?.claimName === name ||
      (ephemeral !== undefined && `${pod.metadata.name ?? ""}-${volume}` === name),
  )

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
