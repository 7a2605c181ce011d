import type { NodeSystemInfo } from "../../../pkg/api/core/v1/node/nodestatus.ts"
import type { HTTPHeader } from "../../../pkg/api/core/v1/container/probe.ts"
import type { Channel } from "../../../pkg/cri/channel.ts"
import type { LinuxContainerResources } from "../../../pkg/cri/resources.ts"
import type { PortForwardClient } from "../../../pkg/streaming/port-forward-client.ts"
import type { CommandStreams } from "../../../pkg/streaming/remote-command.ts"
import type { RemoteCommandClient } from "../../../pkg/streaming/remote-command-client.ts"
import type { ImageService, RuntimeService } from "../../../pkg/cri/service.ts"
import type { UsageMeter } from "./usage.ts"
import type { VolumeFiles } from "../volumes/volume-files.ts"

/**
 * The machine as the kubelet sees it: containers and images in the shape of the CRI, and beside them what the CRI has
 * no call for. `cri/` is the real one: containerd behind gRPC, files, cgroups and sockets of the host. A simulated one
 * keeps all of it in memory.
 */
export interface ContainerRuntime {
  readonly containers: RuntimeService
  readonly images: ImageService
  /**
   * While images are on their way into the store without a pull: resolves when there may be more than now. Else
   * undefined.
   */
  readonly moreImages?: () => Promise<void> | undefined
  readonly files: PodFiles
  readonly volumes: VolumeFiles
  readonly cgroups: PodCgroups
  readonly network: PodNetwork
  readonly machine: Machine
  readonly usage: UsageMeter
  readonly streams: RuntimeStreams
  /** Absent on a machine in memory, where devices need no driver to prepare them. */
  readonly plugins?: PluginSockets
}

/** A unix socket on which a plugin asks to be registered. */
export interface PluginSocket {
  readonly path: string
  /** Differs for a socket that was made anew under the same path. */
  readonly made: string
}

/** Reaches plugins of the kubelet: programs on the node that serve gRPC on unix sockets. */
export interface PluginSockets {
  /** Returns the sockets in the folder and in the folders below it; none when it does not exist. */
  list(folder: string): Promise<readonly PluginSocket[]>
  /** Calls `changed` after a change in the folder or below it. Returns what ends that. */
  watch(folder: string, changed: () => void): () => void
  connect(path: string): Channel
}

/**
 * Reaches what the runtime's exec, attach and portForward gave a URL for. All reject with an Error when it cannot be
 * reached.
 */
export interface RuntimeStreams {
  /**
   * Whether the output that somebody attached to ends with their input, unless the container's own input is then
   * closed.
   */
  readonly inputEndsOutput: boolean
  remoteCommand(url: string, streams: CommandStreams): Promise<RemoteCommandClient>
  portForward(url: string): Promise<PortForwardClient>
}

/** Files of the host that the kubelet writes for pods and reads from them. Paths are absolute. */
export interface PodFiles {
  makeFolder(path: string, mode?: number): Promise<void>
  write(path: string, text: string, mode?: number): Promise<void>
  /**
   * The text, or at most the last `tailBytes` of it; undefined when there is no such file, or something else in its
   * place.
   */
  read(path: string, tailBytes?: number): Promise<string | undefined>
  /** Names in a folder; none when it does not exist. */
  list(path: string): Promise<readonly string[]>
  size(path: string): Promise<number | undefined>
  rename(from: string, to: string): Promise<void>
  /** Compresses with gzip into `to` and removes `from`. */
  compress(from: string, to: string): Promise<void>
  /** The path with all links followed; undefined when there is nothing. */
  resolve(path: string): Promise<string | undefined>
  /** For reading what is still being written; undefined when there is no such file, or something else in its place. */
  open(path: string): Promise<OpenFile | undefined>
  /** Calls `changed` when the file, or what has its name, may have changed. Returns what ends that. */
  watch(path: string, changed: () => void): () => void
  /**
   * Calls `changed` when something in the folder changed; absent where nobody but the kubelet writes. Returns what ends
   * that.
   */
  watchFolder?(path: string, changed: () => void): () => void
  /** Files and folders with all that is in them; what is not there is no error. */
  remove(path: string): Promise<void>
}

/** A file that stays the same when another gets its name. */
export interface OpenFile {
  /** At most `length` bytes from `offset`; none at the end. */
  read(offset: number, length: number): Promise<Uint8Array>
  size(): Promise<number>
  /** Whether the path still means this file. */
  isCurrent(): Promise<boolean>
  close(): Promise<void>
}

/** cgroups above the containers': kubepods, kubepods/burstable, kubepods/pod<uid> … */
export interface PodCgroups {
  /**
   * Makes the cgroup and its parents, or changes its limits. `path` is in parts: ["kubepods", "burstable", "pod<uid>"].
   */
  ensure(path: readonly string[], resources: LinuxContainerResources): Promise<void>
  /** Removes it and what is below. What is not there is no error. */
  remove(path: readonly string[]): Promise<void>
  /** Names of the cgroups directly below. */
  children(path: readonly string[]): Promise<readonly string[]>
  /** As the runtime's `cgroupParent` wants it: `/kubepods/podX`, or `kubepods-podX.slice` with systemd. */
  parentName(path: readonly string[]): string
}

export interface HttpProbeRequest {
  readonly scheme: "HTTP" | "HTTPS"
  readonly host: string
  readonly port: number
  /** With its query. */
  readonly path: string
  readonly headers: readonly HTTPHeader[]
  readonly timeoutMs: number
}

/**
 * Connections from the node to its pods: what probes and hooks need. All reject with an Error whose message users may
 * see.
 */
export interface PodNetwork {
  /** One request, redirects followed on the same host, certificates not checked. At most 10 KiB of the body. */
  httpGet(
    request: HttpProbeRequest,
    signal?: AbortSignal,
  ): Promise<{ readonly status: number; readonly statusText: string; readonly body: string }>
  tcpConnect(host: string, port: number, timeoutMs: number): Promise<void>
  /** grpc.health.v1.Health/Check. */
  grpcHealth(
    host: string,
    port: number,
    service: string,
    timeoutMs: number,
  ): Promise<"UNKNOWN" | "SERVING" | "NOT_SERVING" | "SERVICE_UNKNOWN">
  /** A request of somebody else's, where the machine's own network does not lead to pods. */
  fetch?(request: Request, to: { readonly host: string; readonly port: number }): Promise<Response>
}

export interface FilesystemSpace {
  readonly capacityBytes: number
  /** Together with what is available less than the capacity where some is set aside for root. */
  readonly usedBytes: number
  readonly availableBytes: number
  readonly inodes: number
  readonly inodesFree: number
}

export interface Machine {
  readonly cpus: number
  readonly memoryBytes: number
  /** Page size → bytes set aside, `2Mi` → 0. */
  readonly hugepages: Readonly<Record<string, number>>
  /** Whether the kernel enforces AppArmor profiles. */
  readonly hasAppArmor: boolean
  readonly info: Omit<NodeSystemInfo, "containerRuntimeVersion" | "kubeletVersion" | "kubeProxyVersion">
  /** Memory that can still be given away: capacity less the working set. */
  availableMemory(): Promise<number>
  /** Process ids in use and the most there may be. */
  processes(): Promise<{ readonly used: number; readonly max: number }>
  /** The file system that `path` is on. */
  space(path: string): Promise<FilesystemSpace>
  /** Calls when memory becomes short, where the kernel tells (pressure stall information). Returns what ends that. */
  onMemoryPressure?(listener: () => void): () => void
  readonly hostname: string
}
