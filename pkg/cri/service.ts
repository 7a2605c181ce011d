import type { CallOptions } from "./channel.ts"
import type { Container, ContainerConfig, ContainerFilter, ContainerStatus } from "./container.ts"
import type { ContainerEvent } from "./container-event.ts"
import type { AuthConfig, Image, ImageSpec } from "./image.ts"
import type { LinuxContainerResources } from "./resources.ts"
import type { CgroupDriver } from "./cgroup-driver.ts"
import type { StatusResponse, VersionResponse } from "./runtime.ts"
import type { PodSandbox, PodSandboxConfig, PodSandboxFilter, PodSandboxStatus } from "./sandbox.ts"
import type {
  ContainerStats,
  ContainerStatsFilter,
  FilesystemUsage,
  PodSandboxStats,
  PodSandboxStatsFilter,
} from "./stats.ts"

/**
 * What a container runtime does for the kubelet, shaped as the CRI's RuntimeService. All methods throw CriError.
 * Methods that ask for one object return undefined when that does not exist; stopping and removing an object that does
 * not exist succeeds. Times are in nanoseconds since 1970.
 */
export interface RuntimeService {
  version(options?: CallOptions): Promise<VersionResponse>
  /** @param verbose also fills `info` */
  status(verbose?: boolean, options?: CallOptions): Promise<StatusResponse>
  /** Returns who makes the cgroups of pods; undefined when the runtime does not say. */
  cgroupDriver(options?: CallOptions): Promise<CgroupDriver | undefined>
  /** Tells the runtime the node's pod CIDR. containerd uses it only with a `conf_template`. */
  updateRuntimeConfig(podCidr: string, options?: CallOptions): Promise<void>

  /** Creates and starts a sandbox with its network. Returns its id. */
  runPodSandbox(config: PodSandboxConfig, runtimeHandler?: string, options?: CallOptions): Promise<string>
  /** Stops all containers of the sandbox and releases its network. May be called again. */
  stopPodSandbox(podSandboxId: string, options?: CallOptions): Promise<void>
  /** Removes the sandbox and its containers, by force if they run. May be called again. */
  removePodSandbox(podSandboxId: string, options?: CallOptions): Promise<void>
  podSandboxStatus(podSandboxId: string, options?: CallOptions): Promise<PodSandboxStatus | undefined>
  listPodSandboxes(filter?: PodSandboxFilter, options?: CallOptions): Promise<readonly PodSandbox[]>

  /**
   * Creates a container and does not start it. Returns its id. `sandboxConfig` is the configuration that the sandbox
   * was created with.
   */
  createContainer(
    podSandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
    options?: CallOptions,
  ): Promise<string>
  startContainer(containerId: string, options?: CallOptions): Promise<void>
  /** Sends the stop signal, and SIGKILL after `graceSeconds`. Resolves when the container has exited. */
  stopContainer(containerId: string, graceSeconds: number, options?: CallOptions): Promise<void>
  removeContainer(containerId: string, options?: CallOptions): Promise<void>
  listContainers(filter?: ContainerFilter, options?: CallOptions): Promise<readonly Container[]>
  containerStatus(containerId: string, options?: CallOptions): Promise<ContainerStatus | undefined>
  updateContainerResources(containerId: string, linux: LinuxContainerResources, options?: CallOptions): Promise<void>
  /** Makes the runtime reopen the log file after it was renamed. */
  reopenContainerLog(containerId: string, options?: CallOptions): Promise<void>

  /**
   * Runs a command in the container and waits for its end.
   * @param timeoutSeconds 0 for none. When it is exceeded, the command is killed and CriError `DeadlineExceeded` thrown
   * (by some versions `Unknown`)
   */
  execSync(
    containerId: string,
    command: readonly string[],
    timeoutSeconds: number,
    options?: CallOptions,
  ): Promise<ExecResult>
  /**
   * `exec`, `attach` and `portForward` prepare a stream and return the URL where the runtime serves it (SPDY/3.1 or
   * WebSocket).
   */
  exec(request: ExecRequest, options?: CallOptions): Promise<string>
  attach(request: AttachRequest, options?: CallOptions): Promise<string>
  portForward(podSandboxId: string, ports: readonly number[], options?: CallOptions): Promise<string>

  containerStats(containerId: string, options?: CallOptions): Promise<ContainerStats | undefined>
  listContainerStats(filter?: ContainerStatsFilter, options?: CallOptions): Promise<readonly ContainerStats[]>
  podSandboxStats(podSandboxId: string, options?: CallOptions): Promise<PodSandboxStats | undefined>
  listPodSandboxStats(filter?: PodSandboxStatsFilter, options?: CallOptions): Promise<readonly PodSandboxStats[]>

  /**
   * Yields events of containers and sandboxes, until `signal` aborts. The first event is `Relist`, and so is the first
   * after each break of the connection: events may have been missed, so list everything. An event is yielded when the
   * runtime's status shows its change.
   * @throws CriError `Unimplemented` when the runtime has no events: list from time to time instead
   */
  subscribeContainerEvents(signal: AbortSignal): AsyncIterable<ContainerEvent>
}

/** The CRI's ImageService; errors as above. */
export interface ImageService {
  /** @param image returns only images of this reference */
  listImages(image?: string, options?: CallOptions): Promise<readonly Image[]>
  imageStatus(image: string, options?: CallOptions): Promise<Image | undefined>
  /** Returns the reference of the pulled image, for ContainerConfig.image. May take long: pass a signal. */
  pullImage(
    image: ImageSpec,
    auth?: AuthConfig,
    sandboxConfig?: PodSandboxConfig,
    options?: CallOptions,
  ): Promise<string>
  removeImage(image: string, options?: CallOptions): Promise<void>
  /** The file systems that hold images, and those of the writable layers where they differ. */
  imageFsInfo(options?: CallOptions): Promise<ImageFsInfo>
}

export interface ExecResult {
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
  readonly exitCode: number
}

export interface ExecRequest {
  readonly containerId: string
  readonly cmd: readonly string[]
  readonly tty?: boolean
  readonly stdin?: boolean
  readonly stdout?: boolean
  /** Must be false with a tty, which has only one output stream. */
  readonly stderr?: boolean
}

export interface AttachRequest extends Omit<ExecRequest, "cmd"> {}

export interface ImageFsInfo {
  readonly imageFilesystems: readonly FilesystemUsage[]
  readonly containerFilesystems: readonly FilesystemUsage[]
}
