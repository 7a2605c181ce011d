import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"

/** Returns every container of a pod's spec. Admission runs before validation, so even required fields may be absent. */
export const containersOf = ({ spec }: Pod) => [
  ...(spec.initContainers ?? []),
  ...((spec.containers as Pod["spec"]["containers"] | undefined) ?? []),
  ...(spec.ephemeralContainers ?? []),
]

/** Marks a mirror pod: the object in the API that shows a static pod of a node. */
export const MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
export const isMirror = ({ metadata }: Pod): boolean => metadata.annotations?.[MIRROR_ANNOTATION] !== undefined
