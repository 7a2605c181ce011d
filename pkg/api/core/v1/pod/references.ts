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

/** Source: pkg/api/v1/pod/util.go VisitPodSecretNames. */
export const usesSecret = (pod: Pod, name: string): boolean =>
  pod.spec.imagePullSecrets?.some((secret) => secret.name === name) === true ||
  volumesOf(pod).some((volume) => secretsOfVolume(volume).includes(name)) ||
  containersOf(pod).some(
    ({ env, envFrom }) =>
      env?.some(({ valueFrom }) => valueFrom?.secretKeyRef?.name === name) === true ||
      envFrom?.some(({ secretRef }) => secretRef?.name === name) === true,
  )

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
  volumesOf(pod).some(
    ({ configMap, projected }) =>
      configMap?.name === name || projected?.sources?.some((source) => source.configMap?.name === name) === true,
  ) ||
  containersOf(pod).some(
    ({ env, envFrom }) =>
      env?.some(({ valueFrom }) => valueFrom?.configMapKeyRef?.name === name) === true ||
      envFrom?.some(({ configMapRef }) => configMapRef?.name === name) === true,
  )

/** Whether the pod uses the claim. The claim of an ephemeral volume is named `<pod>-<volume>`. */
export const usesClaim = (pod: Pod, name: string): boolean =>
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
