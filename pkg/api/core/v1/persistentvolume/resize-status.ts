import type { PersistentVolumeClaimCondition, PersistentVolumeClaimStatus } from "./volumeclaim.ts"

/**
 * What a claim's status says of a growing volume, step by step: the controller that enlarges the storage begins, the
 * node ends where it has a part in it. Source: kubernetes-csi/external-resizer pkg/controller/resize_status.go,
 * pkg/volume/util/resize_util.go; KEP-1790.
 */
type Status = PersistentVolumeClaimStatus

/** On a volume: the size that its claim had before the volume grew, while the node has not done its part. */
export const PRE_RESIZE_CAPACITY = "volume.alpha.kubernetes.io/pre-resize-capacity"

const RESIZE_CONDITIONS: readonly string[] = [
  "Resizing",
  "FileSystemResizePending",
  "ControllerResizeError",
  "NodeResizeError",
]

/** How far the growth of the volume has got; undefined where none is under way. */
export const resizeStateOf = (status: Status): string | undefined => status.allocatedResourceStatuses?.["storage"]

/** The storage is being enlarged to `size`. */
export const resizeBegun = (status: Status, size: string, now: string): Status => ({
  ...inState(status, "ControllerResizeInProgress"),
  allocatedResources: { ...status.allocatedResources, storage: size },
  conditions: [...otherConditions(status), { type: "Resizing", status: "True", lastTransitionTime: now }],
})

/** The storage is large enough, and the node still has to show it to the pods. */
export const nodeResizePending = (status: Status, now: string): Status =>
  withCondition(inState(status, "NodeResizePending"), {
    type: "FileSystemResizePending",
    status: "True",
    lastTransitionTime: now,
    message: "Waiting for user to (re-)start a pod to finish file system resize of volume on node.",
  })

/** The node is doing its part. */
export const nodeResizeInProgress = (status: Status): Status => inState(status, "NodeResizeInProgress")

/** A step has failed and will be tried again. Returns the very status where it says so already. */
export function resizeFailed(
  status: Status,
  type: "ControllerResizeError" | "NodeResizeError",
  reason: string,
  now: string,
): Status {
  const message = `failed to expand pvc with ${reason}`
  if (status.conditions?.some((condition) => condition.type === type && condition.message === message)) return status
  return withCondition(status, { type, status: "True", lastTransitionTime: now, message })
}

/** The claim has a volume of `size`. */
export function resizeFinished(status: Status, size: string): Status {
  const { storage: _, ...statuses } = status.allocatedResourceStatuses ?? {}
  const { allocatedResourceStatuses: _none, ...rest } = status
  return {
    ...rest,
    ...(Object.keys(statuses).length === 0 ? {} : { allocatedResourceStatuses: statuses }),
    capacity: { ...status.capacity, storage: size },
    conditions: otherConditions(status),
  }
}

const inState = (status: Status, storage: string): Status => ({
  ...status,
  allocatedResourceStatuses: { ...status.allocatedResourceStatuses, storage },
})

const withCondition = (status: Status, condition: PersistentVolumeClaimCondition): Status => ({
  ...status,
  conditions: [...(status.conditions ?? []).filter(({ type }) => type !== condition.type), condition],
})

const otherConditions = ({ conditions = [] }: Status): readonly PersistentVolumeClaimCondition[] =>
  conditions.filter(({ type }) => !RESIZE_CONDITIONS.includes(type))
