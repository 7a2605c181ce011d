import type { Pod } from "../api/core/v1/pod/pod.ts"

type Volume = NonNullable<Pod["spec"]["volumes"]>[number]

/**
 * Returns the plural of an API object that the pod refers to; undefined when it refers to none. Source:
 * pkg/api/pod/util.go HasAPIObjectReference.
 */
export function apiReferenceIn({ spec }: Pod): string | undefined {
  if ((spec.serviceAccountName ?? "") !== "") return "serviceaccounts"
  if (refersToSecrets(spec)) return "secrets"
  const variables = variablesOf(spec)
  const volumes = spec.volumes ?? []
  if (
    variables.some(({ configMap }) => configMap !== undefined) ||
    volumes.some(
      ({ configMap, projected }) =>
        configMap !== undefined || projected?.sources?.some((source) => source.configMap !== undefined) === true,
    )
  )
    return "configmaps"
  if ((spec.resourceClaims ?? []).length > 0) return "resourceclaims"
  for (const volume of volumes) {
    const reference = referenceOf(volume)
    if (reference !== undefined) return reference
  }
  return undefined
}

/** Whether the pod refers to a Secret in any way. Source: pkg/api/pod/util.go VisitPodSecretNames. */
export const refersToSecrets = (spec: Pod["spec"]): boolean =>
  (spec.imagePullSecrets ?? []).length > 0 ||
  variablesOf(spec).some(({ secret }) => secret !== undefined) ||
  (spec.volumes ?? []).some(usesSecret)

/** Admission runs before validation, so even required fields may be absent. */
const variablesOf = ({ initContainers = [], containers, ephemeralContainers = [] }: Pod["spec"]) =>
  [...initContainers, ...((containers as typeof containers | undefined) ?? []), ...ephemeralContainers].flatMap(
    ({ env = [], envFrom = [] }) => [
      ...env.map(({ valueFrom }) => ({ secret: valueFrom?.secretKeyRef, configMap: valueFrom?.configMapKeyRef })),
      ...envFrom.map(({ secretRef, configMapRef }) => ({ secret: secretRef, configMap: configMapRef })),
    ],
  )

const usesSecret = ({
  secret,
  projected,
  azureFile,
  csi,
  cephfs,
  flexVolume,
  iscsi,
  rbd,
  scaleIO,
  storageos,
}: Volume): boolean =>
  [
    secret,
    azureFile,
    csi?.nodePublishSecretRef,
    cephfs?.secretRef,
    flexVolume?.secretRef,
    iscsi?.secretRef,
    rbd?.secretRef,
    scaleIO?.secretRef,
    storageos?.secretRef,
  ].some((part) => part !== undefined) || projected?.sources?.some((source) => source.secret !== undefined) === true

function referenceOf({ csi, glusterfs, persistentVolumeClaim, ephemeral, projected }: Volume): string | undefined {
  if (csi !== undefined) return "csidrivers (via CSI volumes)"
  if (glusterfs !== undefined) return "endpoints (via glusterFS volumes)"
  if (persistentVolumeClaim !== undefined) return "persistentvolumeclaims"
  if (ephemeral !== undefined) return "persistentvolumeclaims (via ephemeral volumes)"
  for (const { serviceAccountToken, clusterTrustBundle, podCertificate } of projected?.sources ?? []) {
    if (serviceAccountToken !== undefined) return "serviceaccounts (via projected volumes)"
    if (clusterTrustBundle !== undefined) return "clustertrustbundles"
    if (podCertificate !== undefined) return "podcertificates"
  }
  return undefined
}
