import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { MemoryStorage, MemoryStorageOptions } from "../../../../pkg/storage/memory.ts"
import type { ImageBehaviour, ImageBehaviours } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { ClusterSnapshot } from "../snapshot.ts"
import type { ReplayDifference } from "./difference.ts"
import type { NodeFaults } from "./node-player.ts"

/** What the parts of a cluster are made of that plays a recording. */
export interface ReplayMaker {
  /** With what the cluster starts. */
  readonly snapshot: ClusterSnapshot
  /** Makes the store, and what plays the recording in it. Errors that the test is to see go to `thrown`. */
  playing(
    options: MemoryStorageOptions,
    thrown: Error[],
  ): { readonly storage: MemoryStorage; readonly replay: RunningReplay }
  /** Returns how images behave; those of the test, `own`, go before what was recorded. */
  images(options: ReplayImagesOptions): ImageBehaviours
  /** Returns the node that a pod had in the recording, which the scheduler takes of equal ones. */
  nodeOf(pod: Pod): string | undefined
}

export interface ReplayImagesOptions {
  readonly own: Readonly<Record<string, ImageBehaviour>>
  readonly clock: Clock
  readonly failed: (failure: Error) => void
}

/** A recording that is played in a cluster. Times are in milliseconds since the epoch. */
export interface RunningReplay {
  readonly begin: number
  readonly end: number
  readonly toleranceMs: number
  /** In words, what is not in the replay. */
  readonly left: readonly string[]
  /** Begins to play, and to compare. */
  start(nodes: NodeFaults): void
  stop(): void
  /** Returns the first difference until a time. */
  difference(now: number): ReplayDifference | undefined
}
