import type { PersistentVolumeClaimCondition, PersistentVolumeClaimStatus } from "./volumeclaim.ts"

/**
 * The status of a claim while its volume is enlarged: first the controller enlarges the storage; then the node enlarges
 * the file system, if that is needed. Source: kubernetes-csi/external-resizer pkg/controller/resize_status.go,
 * pkg/volume/util/resize_util.go; KEP-1790.
 */
type Status = PersistentVolumeClaimStatus

/**
 * Annotation of a volume: the size of its claim before the enlargement, until the node has enlarged the file system.
 */
export const PRE_RESIZE_CAPACITY = "volume.alpha.kubernetes.io/pre-resize-capacity"

const RESIZE_CONDITIONS: readonly string[] = [
  "Resizing",
  "FileSystemResizePending",
  "ControllerResizeError",
  "NodeResizeError",
]

/** Returns the state of the enlargement; undefined when none is in progress. */
export const resizeStateOf = (status: Status): string | undefined => status.allocatedResourceStatuses?.["storage"]

/** Returns the status while the controller enlarges the storage to `size`. */
export const resizeBegun = (status: Status, size: string, now: string): Status => ({
  ...inState(status, "ControllerResizeInProgress"),
  allocatedResources: { ...status.allocatedResources, storage: size },
  conditions: [...otherConditions(status), { type: "Resizing", status: "True", lastTransitionTime: now }],
})

/** Returns the status when the storage is enlarged and the node still has to enlarge the file system. */
export const nodeResizePending = (status: Status, now: string): Status =>
  withCondition(inState(status, "NodeResizePending"), {
    type: "FileSystemResizePending",
    status: "True",
    lastTransitionTime: now,
    message: "Waiting for user to (re-)start a pod to finish file system resize of volume on node.",
  })

/** Returns the status while the node enlarges the file system. */
export const nodeResizeInProgress = (status: Status): Status => inState(status, "NodeResizeInProgress")

/** Returns the status after a failed step, which will be retried; the same status when it says so already. */
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

/** Returns the status when the enlargement to `size` is complete. */
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
