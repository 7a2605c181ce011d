import type { ImageService, RuntimeService } from "../../../pkg/cri/service.ts"
import type { ContainerRuntime } from "./runtime.ts"

/** A call of the container runtime. */
export interface RuntimeCall {
  /** `runtime.v1.RuntimeService` or `runtime.v1.ImageService`. */
  readonly service: string
  /** The procedure of the CRI, such as `RunPodSandbox`. */
  readonly method: string
  /** The name in the kubelet's metrics, such as `run_podsandbox`. Source: kuberuntime/instrumented_services.go. */
  readonly operation: string
}

/** What surrounds each call: it calls `run`, and returns what that returns. */
export type AroundCall = (call: RuntimeCall, run: () => unknown) => unknown

/** The calls of a service; undefined for those that nothing surrounds. */
type Calls<T> = { readonly [K in keyof T]: readonly [method: string, operation: string] | undefined }

const RUNTIME_CALLS: Calls<RuntimeService> = {
  version: ["Version", "version"],
  status: ["Status", "status"],
  cgroupDriver: ["RuntimeConfig", "runtime_config"],
  updateRuntimeConfig: ["UpdateRuntimeConfig", "update_runtime_config"],
  runPodSandbox: ["RunPodSandbox", "run_podsandbox"],
  stopPodSandbox: ["StopPodSandbox", "stop_podsandbox"],
  removePodSandbox: ["RemovePodSandbox", "remove_podsandbox"],
  podSandboxStatus: ["PodSandboxStatus", "podsandbox_status"],
  listPodSandboxes: ["ListPodSandbox", "list_podsandbox"],
  createContainer: ["CreateContainer", "create_container"],
  startContainer: ["StartContainer", "start_container"],
  stopContainer: ["StopContainer", "stop_container"],
  removeContainer: ["RemoveContainer", "remove_container"],
  listContainers: ["ListContainers", "list_containers"],
  containerStatus: ["ContainerStatus", "container_status"],
  updateContainerResources: ["UpdateContainerResources", "update_container"],
  reopenContainerLog: ["ReopenContainerLog", "reopen_container_log"],
  execSync: ["ExecSync", "exec_sync"],
  exec: ["Exec", "exec"],
  attach: ["Attach", "attach"],
  portForward: ["PortForward", "port_forward"],
  listContainerStats: ["ListContainerStats", "list_container_stats"],
  listPodSandboxStats: ["ListPodSandboxStats", "list_podsandbox_stats"],
  containerStats: undefined,
  podSandboxStats: undefined,
  subscribeContainerEvents: undefined,
}

const IMAGE_CALLS: Calls<ImageService> = {
  listImages: ["ListImages", "list_images"],
  imageStatus: ["ImageStatus", "image_status"],
  pullImage: ["PullImage", "pull_image"],
  removeImage: ["RemoveImage", "remove_image"],
  imageFsInfo: ["ImageFsInfo", "image_fs_info"],
}

/** Returns the runtime with `around` around each of its calls. */
export const aroundCalls = (runtime: ContainerRuntime, around: AroundCall): ContainerRuntime =>
  new MeasuredRuntime(runtime, around)

/** Reads each part from the runtime at each use, since that of a test changes with its faults. */
class MeasuredRuntime implements ContainerRuntime {
  readonly #runtime: ContainerRuntime
  readonly #around: AroundCall
  #containers: Surrounded<RuntimeService> | undefined
  #images: Surrounded<ImageService> | undefined

  constructor(runtime: ContainerRuntime, around: AroundCall) {
    this.#runtime = runtime
    this.#around = around
  }

  get containers(): RuntimeService {
    const { containers } = this.#runtime
    if (this.#containers?.target !== containers) this.#containers = new MeasuredContainers(containers, this.#around)
    return this.#containers
  }
  get images(): ImageService {
    const { images } = this.#runtime
    if (this.#images?.target !== images) this.#images = new MeasuredImages(images, this.#around)
    return this.#images
  }
  get moreImages() {
    return this.#runtime.moreImages
  }
  get files() {
    return this.#runtime.files
  }
  get volumes() {
    return this.#runtime.volumes
  }
  get cgroups() {
    return this.#runtime.cgroups
  }
  get network() {
    return this.#runtime.network
  }
  get machine() {
    return this.#runtime.machine
  }
  get usage() {
    return this.#runtime.usage
  }
  get streams() {
    return this.#runtime.streams
  }
  get foresight() {
    return this.#runtime.foresight
  }
  get plugins() {
    return this.#runtime.plugins
  }
  get csi() {
    return this.#runtime.csi
  }
}

/** A service with `around` around each of its calls. */
type Surrounded<T> = T & { readonly target: T }

/**
 * Returns the class of a service with something around its calls. With a closure for each call instead, those of a
 * thousand simulated nodes took 6 MB. A proxy would do the same, but the kubelet calls its runtime so often that this
 * took a hundredth of all its time.
 */
function surrounding<T extends object>(
  service: string,
  calls: Calls<T>,
): new (target: T, around: AroundCall) => Surrounded<T> {
  class Whole {
    readonly target: Readonly<Record<string, (...args: readonly unknown[]) => unknown>>
    readonly around: AroundCall
    constructor(target: T, around: AroundCall) {
      this.target = target as Whole["target"]
      this.around = around
    }
  }
  for (const [key, names] of Object.entries<Calls<T>[keyof T]>(calls))
    Object.defineProperty(Whole.prototype, key, { value: callOf(key, service, names) })
  return Whole as unknown as new (target: T, around: AroundCall) => Surrounded<T>

  function callOf(key: string, service: string, names: Calls<T>[keyof T]) {
    if (names === undefined)
      return function (this: Whole, ...args: readonly unknown[]) {
        return this.target[key]!(...args)
      }
    const [method, operation] = names
    const call: RuntimeCall = { service, method, operation }
    return function (this: Whole, ...args: readonly unknown[]) {
      const { target, around } = this
      return around(call, () => target[key]!(...args))
    }
  }
}

const MeasuredContainers = surrounding("runtime.v1.RuntimeService", RUNTIME_CALLS)
const MeasuredImages = surrounding("runtime.v1.ImageService", IMAGE_CALLS)
