import { join } from "node:path"
import type { Taint } from "../../../pkg/api/core/v1/node/nodespec.ts"
import type { CgroupDriver } from "../../../pkg/cri/cgroup-driver.ts"
import type { KubeletTuning } from "./tuning.ts"

/** The configuration of a node. Paths are absolute. */
export interface KubeletConfig {
  readonly nodeName: string
  /** Addresses of the node, the primary one first. */
  readonly nodeIps: readonly string[]
  /** Addresses under which the outside reaches the node, where they are others. */
  readonly externalIps: readonly string[]
  /** Folder of the kubelet's own files: pods/<uid>/volumes, pods/<uid>/etc-hosts, seccomp … */
  readonly root: string
  /**
   * Folder of the container logs, with a folder `<namespace>_<name>_<uid>` for each pod. Upstream uses /var/log/pods.
   */
  readonly podLogs: string
  /**
   * Folder of links to the logs of containers, where log collectors look by default; absent for none. Upstream uses
   * /var/log/containers.
   */
  readonly containerLogs?: string
  /** Folder of the manifests of static pods. */
  readonly staticPods: string
  /** Folder of the sockets of device plugins; absent for none. */
  readonly devicePlugins?: string
  /** Folder of the socket at which programs ask for the resources of pods; absent for none. */
  readonly podResources?: string
  readonly clusterDns: readonly string[]
  readonly clusterDomain: string
  /** The resolv.conf of pods with dnsPolicy Default; `""` for none. */
  readonly resolvConf: string
  readonly maxPods: number
  readonly cgroupDriver: CgroupDriver
  /** Labels and taints of a new Node; the labels are also kept on an existing one. */
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  /**
   * How long the volumes of a running pod may be older than their ConfigMaps and Secrets, in milliseconds, plus up to
   * half as much at random; 0 for no delay. Source: syncFrequency of k8s.io/kubelet config/v1beta1/types.go.
   */
  readonly syncFrequencyMs: number
  readonly tuning?: Partial<KubeletTuning>
  /**
   * Leaves volumes of pods that an earlier kubelet started as they are until one of their containers is started again,
   * but for those that are attached to the node.
   */
  readonly adoptsVolumesLate?: boolean
}

/** The folders of logs on a machine, which log collectors know. */
export const POD_LOGS = "/var/log/pods"
export const CONTAINER_LOGS = "/var/log/containers"

/** Source: pkg/kubelet/apis/config/v1beta1/defaults.go MaxPods. */
export const MAX_PODS = 110

/** Source: pkg/kubelet/apis/config/v1beta1/defaults.go SyncFrequency. */
export const SYNC_FREQUENCY_MS = 60_000

/** Returns the folders of a kubelet below k3ts' data directory. */
export const kubeletFolders = (dataDir: string): Pick<KubeletConfig, "root" | "staticPods"> => ({
  root: join(dataDir, "agent/kubelet"),
  staticPods: join(dataDir, "agent/pod-manifests"),
})
