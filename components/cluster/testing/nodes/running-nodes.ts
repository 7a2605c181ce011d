import type { Reserved } from "../../../kubelet/model/tuning.ts"
import type { ImageBehaviour } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { RunningPod, RunOfContainer } from "../../../kubelet/runtime/simulated/containers/running-pod.ts"
import type { PresentImage } from "../../../kubelet/runtime/simulated/images.ts"

/** What runs on the nodes of a cluster that another one begins with. */
export interface RunningNodes {
  /** Returns the state of a node; undefined for one that was not there. */
  on(node: string): RunningNode | undefined
  /** Returns how a container that runs goes on. */
  behaviourOf(run: RunOfContainer): ImageBehaviour
}

export interface RunningNode {
  readonly pods: readonly RunningPod[]
  readonly images: readonly PresentImage[]
  /** What pods may not have of it. */
  readonly reserved: Reserved
  /** Whether nothing is heard of it, as of a machine that is off. */
  readonly isLost: boolean
  /** Why it runs no further pods although it is heard of. */
  readonly problem: string | undefined
}
