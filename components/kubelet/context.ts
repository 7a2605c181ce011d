import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import type { OwnPorts } from "../../pkg/component/own-ports.ts"
import type { EventRecorder } from "../../pkg/controller/events.ts"
import type { KubeletMetrics } from "./metrics/kubelet-metrics.ts"
import type { PidLimits } from "./model/pid-limits.ts"
import type { ContainerRuntime } from "./runtime/runtime.ts"
import type { KubeletConfig } from "./model/config.ts"

/** What all parts of the kubelet share. */
export interface KubeletContext extends ComponentContext {
  readonly config: KubeletConfig
  readonly runtime: ContainerRuntime
  /** Records events with this node as their source. */
  readonly events: EventRecorder
  readonly metrics: KubeletMetrics
  /** Returns the port in the Node's status, on which the kubelet's API is served; 0 for none. */
  readonly port: () => number
  /** The ports of this machine that pods cannot have. */
  readonly ownPorts: OwnPorts
  /** The limits of processes; resolves once the node's own is in force. */
  readonly pidLimits: () => Promise<PidLimits>
  /**
   * Resolves when the network policies for a pod with these addresses are in force. Called before a container of the
   * pod starts, so that none of its packets escapes them.
   * @throws Error when that takes too long; the kubelet calls it again
   */
  readonly networkReady: (pod: Pod, addresses: readonly string[]) => Promise<void>
}
