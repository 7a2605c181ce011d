import type { NodeSystemInfo } from "../../../pkg/api/core/v1/node/nodestatus.ts"
import type { HTTPHeader } from "../../../pkg/api/core/v1/container/probe.ts"
import type { Channel } from "../../../pkg/cri/channel.ts"
import type { Procedure } from "../../../pkg/grpc/rpc.ts"
import type { LinuxContainerResources } from "../../../pkg/cri/resources.ts"
import type { ForwardTarget } from "../../../pkg/streaming/port-forward-client.ts"
import type { CommandStreams } from "../../../pkg/streaming/remote-command.ts"
import type { RemoteCommandClient } from "../../../pkg/streaming/remote-command-client.ts"
import type { ImageService, RuntimeService } from "../../../pkg/cri/service.ts"
import type { CsiDrivers } from "./csi-driver.ts"
import type { ProbeForesight } from "./probe-foresight.ts"
import type { UsageMeter } from "./usage.ts"
import type { VolumeFiles } from "./volume-files.ts"
import type { OpenFile } from "./open-file.ts"

/**
 * The machine as the kubelet sees it: containers and images as in the CRI, and what the CRI does not have. `cri/`
 * implements it with containerd over gRPC and the files, cgroups and sockets of the host; `simulated/` keeps everything
 * in memory.
 */
export interface ContainerRuntime {
  readonly containers: RuntimeService
  readonly images: ImageService
  /**
   * Returns a promise while images are being imported without a pull; it resolves when more images may have arrived.
   * Returns undefined when no import is in progress.
   */
  readonly moreImages?: (() => Promise<void> | undefined) | undefined
  readonly files: PodFiles
  readonly volumes: VolumeFiles
  readonly cgroups: PodCgroups
  readonly network: PodNetwork
  readonly machine: Machine
  readonly usage: UsageMeter
  readonly streams: RuntimeStreams
  /** Absent where nothing is known of a check before it is made. */
  readonly foresight?: ProbeForesight | undefined
  /** Absent on a machine in memory, where devices need no driver to prepare them. */
  readonly plugins?: PluginSockets | undefined
  /** The CSI drivers of the machine; absent where there can be none. */
  readonly csi?: CsiDrivers | undefined
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
  /** Whether a program answers at the socket. */
  answers(path: string): Promise<boolean>
  /**
   * Serves procedures on a new socket, which only root can reach. What an answer throws is told to the caller.
   * @throws Error when the socket cannot be made
   */
  serve(path: string, procedures: readonly Procedure[]): Promise<ServedSocket>
}

export interface ServedSocket {
  /** Ends all calls, and removes the socket. */
  close(): Promise<void>
}

/**
 * Opens the URLs that the runtime's exec, attach and portForward return. All methods reject with an Error when the URL
 * cannot be reached.
 */
export interface RuntimeStreams {
  /**
   * Whether the output of an attached client ends when its input does, unless the container's own input is closed then.
   */
  readonly inputEndsOutput: boolean
  exec(url: string, streams: CommandStreams, containerId: string): Promise<RemoteCommandClient>
  /**
   * Returns how many commands run in a container, also of clients that have left; 0 where the runtime does not show
   * them.
   */
  processes(containerId: string): Promise<number>
  attach(url: string, streams: CommandStreams): Promise<RemoteCommandClient>
  /** Each connection may need a URL of its own. */
  portForward(urlOf: () => Promise<string>): Promise<ForwardTarget>
}

/** Files of the host that the kubelet writes for pods or reads from them. Paths are absolute. */
export interface PodFiles {
  makeFolder(path: string, mode?: number): Promise<void>
  write(path: string, text: string, mode?: number): Promise<void>
  /** Returns the text, or its last `tailBytes`; undefined when it does not exist or is not a regular file. */
  read(path: string, tailBytes?: number): Promise<string | undefined>
  /** Returns the names in a folder; none when it does not exist. */
  list(path: string): Promise<readonly string[]>
  size(path: string): Promise<number | undefined>
  rename(from: string, to: string): Promise<void>
  /** Makes a file of so many bytes, for which the room on the disk is taken at once. */
  allocate(path: string, bytes: number): Promise<void>
  /** Compresses `from` with gzip into `to`, and removes `from`. */
  compress(from: string, to: string): Promise<void>
  /** Returns the path with all links resolved; undefined when it does not exist. */
  resolve(path: string): Promise<string | undefined>
  /** Opens a file that may still grow, for reading; undefined when it does not exist or is not a regular file. */
  open(path: string): Promise<OpenFile | undefined>
  /**
   * Calls `changed` when the file, or another one that gets its name, may have changed. Returns a function that ends
   * this.
   */
  watch(path: string, changed: () => void): () => void
  /**
   * Calls `changed` when an entry of the folder changes; absent when only the kubelet writes there. Returns a function
   * that ends this.
   */
  watchFolder?(path: string, changed: () => void): () => void
  /** Removes files, or folders with all that is in them; those that do not exist are skipped. */
  remove(path: string): Promise<void>
  /** Returns the links in a folder: name → target. Neither they nor a link in the folder's place are followed. */
  links(folder: string): Promise<ReadonlyMap<string, string>>
  /**
   * Makes a link, and its folder. Returns what has the name already, where that is not the same link: the target of
   * another, or `no link`. Neither is a link in the folder's place followed.
   */
  link(folder: string, name: string, target: string): Promise<string | undefined>
  /** Removes a link that has this target; anything else of this name stays. */
  unlink(folder: string, name: string, target: string): Promise<void>
}

/** The limits of a cgroup above those of containers; what is left out stays as it is. */
export interface CgroupLimits extends LinuxContainerResources {
  /** How many processes and threads there may be in it together. */
  readonly mostPids?: number | undefined
}

/** The cgroups above those of containers: kubepods, kubepods/burstable, kubepods/pod<uid> … */
export interface PodCgroups {
  /**
   * Creates the cgroup and its parents, or changes its limits. `path` is a list: ["kubepods", "burstable", "pod<uid>"].
   */
  ensure(path: readonly string[], limits: CgroupLimits): Promise<void>
  /** Removes the cgroup with all below it; one that does not exist is skipped. */
  remove(path: readonly string[]): Promise<void>
  /** Returns the names of the cgroups directly below. */
  children(path: readonly string[]): Promise<readonly string[]>
  /** Returns the path as `cgroupParent` of the CRI: `/kubepods/podX`, or `kubepods-podX.slice` with systemd. */
  parentName(path: readonly string[]): string
}

export interface HttpProbeRequest {
  readonly scheme: "HTTP" | "HTTPS"
  readonly host: string
  readonly port: number
  /** The path with its query, as a request line has it. */
  readonly path: string
  readonly headers: readonly HTTPHeader[]
  readonly timeoutMs: number
}

/**
 * Opens connections from the node to its pods, for probes and hooks. All methods reject with an Error whose message
 * users may see.
 */
export interface PodNetwork {
  /**
   * Sends one request. Redirects on the same host are followed, certificates are not verified, and at most 10 KiB of
   * the body are read.
   */
  httpGet(
    request: HttpProbeRequest,
    signal?: AbortSignal,
  ): Promise<{ readonly status: number; readonly statusText: string; readonly body: string }>
  tcpConnect(host: string, port: number, timeoutMs: number): Promise<void>
  /** Calls grpc.health.v1.Health/Check, and returns the name of the status. */
  grpcHealth(
    host: string,
    port: number,
    service: string,
    timeoutMs: number,
  ): Promise<"UNKNOWN" | "SERVING" | "NOT_SERVING" | "SERVICE_UNKNOWN">
  /** Sends a request on behalf of the API server; present only where the machine's own network does not reach pods. */
  fetch?(request: Request, to: { readonly host: string; readonly port: number }): Promise<Response>
}

export interface FilesystemSpace {
  readonly capacityBytes: number
  /** Smaller than capacity less available when the file system reserves space for root. */
  readonly usedBytes: number
  readonly availableBytes: number
  readonly inodes: number
  readonly inodesFree: number
}

export interface Machine {
  readonly cpus: number
  readonly memoryBytes: number
  /** Bytes reserved in pages of each size, such as `2Mi` → 0. */
  readonly hugepages: Readonly<Record<string, number>>
  /** Whether the kernel enforces AppArmor profiles. */
  readonly hasAppArmor: boolean
  readonly info: Omit<NodeSystemInfo, "containerRuntimeVersion" | "kubeletVersion" | "kubeProxyVersion">
  /** Returns the memory that pods can still use: capacity less the working set, in bytes. */
  availableMemory(): Promise<number>
  /** Returns how many process ids are in use, and the most there can be. */
  processes(): Promise<{ readonly used: number; readonly max: number }>
  /** Returns the space of the file system that contains `path`. */
  space(path: string): Promise<FilesystemSpace>
  /**
   * Calls the listener when memory becomes short, where the kernel reports that (pressure stall information). Returns a
   * function that ends this.
   */
  onMemoryPressure?(listener: () => void): () => void
  readonly hostname: string
}
