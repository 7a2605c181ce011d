import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"

/** Every container of a pod's spec. Admission comes before validation, so even what is required may be absent. */
export const containersOf = ({ spec }: Pod) => [
  ...(spec.initContainers ?? []),
  ...((spec.containers as Pod["spec"]["containers"] | undefined) ?? []),
  ...(spec.ephemeralContainers ?? []),
]

/** Set on a pod that shows the API a static pod of some node. */
export const MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
export const isMirror = ({ metadata }: Pod): boolean => metadata.annotations?.[MIRROR_ANNOTATION] !== undefined
