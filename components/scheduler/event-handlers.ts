import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { DeviceClass } from "../../pkg/api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceSlice } from "../../pkg/api/resource/v1/resourceslice.ts"
import { VolumeAttachment } from "../../pkg/api/storage/v1/volumeattachment.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import type { Informers } from "../../pkg/client/informer.ts"
import { isPodTerminal } from "../../pkg/pods/pod-state.ts"
import type { Cache } from "./cache.ts"
import { nodeActions, podActions } from "./cluster-events.ts"
import type { ClusterAction, Diagnosis } from "./framework.ts"
import type { Nominations } from "./nominations.ts"
import type { PodGroups } from "./pod-groups.ts"
import type { SchedulingQueue } from "./queue.ts"
import { VOLUME_KINDS } from "./volumebinding/volume-objects.ts"

/** The kinds that the plugin for devices depends on. */
export const DEVICE_KINDS: readonly Resource[] = [ResourceClaim, ResourceSlice, DeviceClass]

export interface FollowOptions {
  readonly informers: Informers
  /** The schedulerNames of the pods to schedule. */
  readonly names: { has(name: string): boolean }
  readonly cache: Cache
  readonly queue: SchedulingQueue
  readonly nominations: Nominations
  /** Absent where no PodGroups are served. */
  readonly groups: PodGroups | undefined
  /** Why pods fit no node, by UID. */
  readonly diagnoses: Map<string, Diagnosis>
}

/**
 * Keeps the scheduler's cache, queue and nominations as the cluster is: pods to schedule come into the queue, and each
 * change that may make room has the pods tried again that wait for it. Returns the function that ends that. Source:
 * pkg/scheduler/eventhandlers.go.
 */
export function followObjects(options: FollowOptions): () => void {
  const { informers, names, cache, queue, nominations, groups, diagnoses } = options
  const waits = (pod: Pod): boolean => !pod.spec.nodeName && !isPodTerminal(pod) && names.has(pod.spec.schedulerName)
  const moveAll = (actions: readonly ClusterAction[], object?: unknown) => {
    for (const action of actions) queue.moveAllToActiveOrBackoffQueue(action, object)
  }

  function podChanged(pod: Pod, old: Pod | undefined): void {
    if (groups !== undefined && (pod.spec.nodeName || waits(pod))) groups.podChanged(pod)
    if (waits(pod)) {
      if (pod.metadata.deletionTimestamp !== undefined) return waitingGone(pod)
      if (old === undefined) {
        queue.add(pod)
        groups?.podEntered(pod)
      } else if (!cache.isAssumed(pod)) queue.update(pod, old)
      // One that waits for its volumes counts on its node already.
      if (!cache.isAssumed(pod)) nominations.update(pod, old)
      const before = old?.status.nominatedNodeName
      if (before && before !== pod.status.nominatedNodeName) nominationEnded(old)
      return
    }
    if (old !== undefined && waits(old)) dropWaiting(pod)
    if (pod.spec.nodeName) {
      cache.setPod(pod)
      moveAll(podActions(pod, old), pod)
    }
  }

  function dropWaiting(pod: Pod): void {
    if (!cache.isAssumed(pod)) queue.delete(pod)
    diagnoses.delete(pod.metadata.uid ?? "")
    nominations.remove(pod)
  }

  function waitingGone(pod: Pod): void {
    const isNominated = nominations.nodeOf(pod) !== undefined
    dropWaiting(pod)
    if (isNominated) nominationEnded(pod)
  }

  /** Pods that do not come before a nominated one were placed as if it were on its node. */
  function nominationEnded(nominated: Pod): void {
    queue.moveAllToActiveOrBackoffQueue(
      "AssignedPod/Delete",
      nominated,
      ({ spec }) => (spec.priority ?? 0) <= (nominated.spec.priority ?? 0),
    )
  }

  function podGone(pod: Pod): void {
    groups?.podGone(pod)
    if (waits(pod)) waitingGone(pod)
    const counted = pod.spec.nodeName !== undefined && pod.spec.nodeName !== ""
    cache.forget(pod)
    if (counted) moveAll(["AssignedPod/Delete"], pod)
  }

  const volumesChanged = () => moveAll(["Volume/Change"])
  const devicesGone = () => moveAll(["Device/Change"])
  const devicesChanged = () => {
    queue.recheckGated()
    devicesGone()
  }
  const classChanged = () => moveAll(["DeviceClass/Change"])
  const ends = [
    informers.of(Node).on({
      added: (node) => {
        cache.setNode(node)
        moveAll(["Node/Add"], node)
      },
      updated: (node, old) => {
        cache.setNode(node)
        moveAll(nodeActions(node, old), node)
      },
      deleted: (node) => cache.removeNode(node.metadata.name ?? ""),
    }),
    informers.of(Pod).on({ added: (pod) => podChanged(pod, undefined), updated: podChanged, deleted: podGone }),
    ...VOLUME_KINDS.map((resource) => informers.of(resource).on({ added: volumesChanged, updated: volumesChanged })),
    informers.of(VolumeAttachment).on({ deleted: volumesChanged }),
    ...DEVICE_KINDS.map((resource) =>
      informers.of(resource).on({ added: devicesChanged, updated: devicesChanged, deleted: devicesGone }),
    ),
    informers.of(DeviceClass).on({ added: classChanged, updated: classChanged }),
  ]
  return () => {
    for (const end of ends) end()
  }
}
