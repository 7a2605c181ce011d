import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { Taint } from "../../pkg/api/core/v1/node/nodespec.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import type { EventRecorder } from "../../pkg/controller/events.ts"
import type { CgroupDriver } from "../../pkg/cri/cgroup-driver.ts"
import type { KubeletMetrics } from "./metrics/kubelet-metrics.ts"
import type { ContainerRuntime } from "./runtime/runtime.ts"

/** What a node is told about itself. Paths are absolute. */
export interface KubeletConfig {
  readonly nodeName: string
  /** Addresses of the node, the main one first. */
  readonly nodeIps: readonly string[]
  /** Folder of the kubelet's own files: pods/<uid>/volumes, pods/<uid>/etc-hosts, seccomp … */
  readonly root: string
  /** A folder a pod, `<namespace>_<name>_<uid>`, with the logs of its containers. Upstream's place is /var/log/pods. */
  readonly podLogs: string
  /** Manifests of static pods. */
  readonly staticPods: string
  readonly clusterDns: readonly string[]
  readonly clusterDomain: string
  /** The resolv.conf that pods of dnsPolicy Default get; `""` for none. */
  readonly resolvConf: string
  readonly maxPods: number
  readonly cgroupDriver: CgroupDriver
  /** Labels and taints that a new Node gets; the labels are kept on an old one too. */
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  /**
   * How long a running pod's volumes may lag behind their ConfigMaps and Secrets, in milliseconds, up to half as much
   * more by chance; 0 for not at all. Source: syncFrequency of k8s.io/kubelet config/v1beta1/types.go.
   */
  readonly syncFrequencyMs: number
}

/** Source: pkg/kubelet/apis/config/v1beta1/defaults.go MaxPods. */
export const MAX_PODS = 110

/** Source: pkg/kubelet/apis/config/v1beta1/defaults.go SyncFrequency. */
export const SYNC_FREQUENCY_MS = 60_000

/** What all parts of the kubelet share. */
export interface KubeletContext extends ComponentContext {
  readonly config: KubeletConfig
  readonly runtime: ContainerRuntime
  /** Records events with this node as their source. */
  readonly events: EventRecorder
  readonly metrics: KubeletMetrics
  /** The port that Nodes tell of: where the kubelet's own API is served, 0 for nowhere. */
  readonly port: () => number
  /**
   * Resolves when the node's network may be used by a pod whose sandbox has these addresses: what network policies say
   * of them is in force. Asked before a container of the pod starts, so that none of its packets goes unjudged.
   *
   * @throws Error when that takes too long; it is asked again
   */
  readonly networkReady: (pod: Pod, addresses: readonly string[]) => Promise<void>
}
