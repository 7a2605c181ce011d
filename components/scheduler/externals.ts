import type { ComponentContext } from "../../pkg/component/component.ts"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { Cache } from "./cache.ts"
import type { ProfileSettings } from "./config/scheduler-settings.ts"
import type { SchedulerObserver } from "./observer.ts"
import type { Profile } from "./profile.ts"
import type { QueuedPod } from "./queued-pod.ts"
import type { Decision } from "./decision.ts"
import type { ClusterAction } from "./framework.ts"
import type { External } from "./external/external.ts"
import type { ExternalBinding } from "./external/external-binding.ts"

/** What externals need of the scheduler. */
export interface ExternalTools extends Pick<ComponentContext, "clock" | "log" | "informers"> {
  readonly cache: Cache
  readonly observer: SchedulerObserver | undefined
  /** Called when a pod that was kept from the queue may enter it; without one, when any may. */
  recheck(pod?: Pod): void
  /** Carries a decision out. Returns what is written in the background; undefined for nothing. */
  conclude(
    queued: QueuedPod,
    decision: Decision,
    started: number,
    profile: Profile,
    external?: ExternalBinding,
  ): Promise<void> | undefined
  /** The pod needs no node any more. */
  drop(pod: Pod): void
  /** An error of our own: the pod is tried again. */
  contain(queued: QueuedPod, err: unknown): void
}

/** The plugins of one's own and the extenders of a scheduler. */
export interface Externals {
  /** Returns those of a profile, in the order in which they are asked. */
  of(profile: ProfileSettings): readonly External[]
  /** Schedules a pod of which these have a say. Resolves when the pod has its node, or has none. Never rejects. */
  schedule(queued: QueuedPod, profile: Profile, externals: readonly External[]): Promise<void>
  /** Called for each event of the cluster. */
  happened(action: ClusterAction): void
  stop(): Promise<void>
}
export type CreateExternals = (tools: ExternalTools) => Externals
