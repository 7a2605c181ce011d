import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import type { Features } from "../../pkg/component/features.ts"
import type { Cache } from "./cache.ts"
import type { Diagnosis, Plugin } from "./framework.ts"
import type { Kept } from "./binding-cycle.ts"
import type { Nominations } from "./nominations.ts"
import type { Profile } from "./profile.ts"
import type { SchedulingQueue } from "./queue.ts"
import type { QueuedPod } from "./queued-pod.ts"

/** The gates that decide what PodGroups mean to the scheduler. */
export type GroupFeatures = Pick<
  Features,
  "GangScheduling" | "TopologyAwareWorkloadScheduling" | "WorkloadAwarePreemption"
>

/** What the scheduling of groups needs of the scheduler. */
export interface PodGroupTools extends Pick<ComponentContext, "client" | "informers" | "clock" | "random" | "log"> {
  readonly features: GroupFeatures
  readonly cache: Cache
  readonly queue: SchedulingQueue
  readonly nominations: Nominations
  profileOf(pod: Pod): Profile
  /** Keeps for the pod what it gets on the node. @throws ReserveError */
  reserve(pod: Pod, node: string, profile: Profile): readonly Kept[]
  /** Writes in the background the binding of a pod that the cache has on its node already. */
  bind(queued: QueuedPod, node: string, started: number, profile: Profile, kept: readonly Kept[]): void
  /** Notes why a pod fits no node. */
  diagnosed(pod: Pod, diagnosis: Diagnosis): void
  inBackground(task: Promise<void>): Promise<void>
  /** An error of our own: the pod is tried again. */
  contain(queued: QueuedPod, err: unknown): void
  isRunning(): boolean
}

/** Schedules pods that belong to PodGroups. Present only where PodGroups are served. */
export interface PodGroups {
  /** Returns the plugins that the queue asks about a pod of a group: those of its profile, and what knows of groups. */
  pluginsOf(profile: Profile): readonly Plugin[]
  /** Whether the pod is scheduled with its group. */
  belongs(pod: Pod): boolean
  /** Called when a pod is new or has changed, before the queue and the cache know that. */
  podChanged(pod: Pod): void
  /** Called when a pod that waited for its group may enter the queue. */
  podEntered(pod: Pod): void
  podGone(pod: Pod): void
  /** Schedules the group of a pod that has its turn: all pods of the group that wait. */
  schedule(first: QueuedPod): void
  /** Follows PodGroups. Returns the function that ends that. */
  follow(): Promise<() => void>
}

/** Loads the scheduling of groups. */
export interface PodGroupsConfig {
  readonly features: GroupFeatures
  /** Whether PodGroups are served; known when the API server has started. */
  isServed(): boolean
  load(): Promise<(tools: PodGroupTools) => PodGroups>
}
