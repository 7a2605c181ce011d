import type { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodTemplateSpec } from "../../../pkg/api/core/v1/podtemplate/podtemplatespec.ts"
import { REVISION_LABEL } from "../revisions.ts"

/** Names of a StatefulSet's pods and claims. Source: pkg/controller/statefulset/stateful_set_utils.go. */

export const POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
export const POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"

export const startOrdinal = ({ spec }: StatefulSet): number => spec.ordinals?.start ?? 0

/** Returns the number at the end of a pod's name; undefined when the name does not belong to this set. */
export function ordinalOf(
  { metadata: { name: podName = "" } }: Pod,
  { metadata: { name } }: StatefulSet,
): number | undefined {
  const match = /^(.*)-(\d+)$/.exec(podName)
  return match === null || match[1] !== name ? undefined : Number(match[2])
}

export const isInRange = (ordinal: number, set: StatefulSet): boolean =>
  ordinal >= startOrdinal(set) && ordinal < startOrdinal(set) + set.spec.replicas

export const podName = ({ metadata }: StatefulSet, ordinal: number): string => `${metadata.name}-${ordinal}`
export const claimName = (set: StatefulSet, template: string, ordinal: number): string =>
  `${template}-${podName(set, ordinal)}`

export const revisionOf = ({ metadata }: Pod): string => metadata.labels?.[REVISION_LABEL] ?? ""

/** Returns the pod template with the pod's name, its DNS name in the set and its own claims. */
export function templateFor(
  set: StatefulSet,
  { metadata, spec }: PodTemplateSpec,
  revision: string,
  ordinal: number,
): PodTemplateSpec {
  const name = podName(set, ordinal)
  const claims = (set.spec.volumeClaimTemplates ?? []).map((template) => template.metadata.name ?? "")
  const volumes = [
    ...claims.map((claim) => ({ name: claim, persistentVolumeClaim: { claimName: claimName(set, claim, ordinal) } })),
    ...(spec.volumes ?? []).filter((volume) => !claims.includes(volume.name)),
  ]
  return {
    metadata: {
      ...metadata,
      labels: {
        ...metadata.labels,
        [POD_NAME_LABEL]: name,
        [POD_INDEX_LABEL]: String(ordinal),
        [REVISION_LABEL]: revision,
      },
    },
    spec: {
      ...spec,
      hostname: name,
      ...(set.spec.serviceName ? { subdomain: set.spec.serviceName } : {}),
      ...(volumes.length === 0 ? {} : { volumes }),
    },
  }
}
