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
export function aroundCalls(runtime: ContainerRuntime, around: AroundCall): ContainerRuntime {
  const containers = surrounding("runtime.v1.RuntimeService", RUNTIME_CALLS, around)
  const images = surrounding("runtime.v1.ImageService", IMAGE_CALLS, around)
  // Read from the runtime at each use, since that of a test changes with its faults.
  return Object.create(runtime, {
    containers: { get: () => containers(runtime.containers) },
    images: { get: () => images(runtime.images) },
  }) as ContainerRuntime
}

/** Returns a function that makes the service around another one, and returns the same for the same. */
function surrounding<T extends object>(service: string, calls: Calls<T>, around: AroundCall): (target: T) => T {
  let last: { readonly target: T; readonly whole: T } | undefined
  return (target) => {
    if (last?.target !== target) last = { target, whole: surrounded(target, service, calls, around) }
    return last.whole
  }
}

/** A proxy would do the same, but the kubelet calls its runtime so often that this took a hundredth of all its time. */
function surrounded<T extends object>(target: T, service: string, calls: Calls<T>, around: AroundCall): T {
  const members = target as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>
  const whole: Record<string, unknown> = {}
  for (const [key, names] of Object.entries<Calls<T>[keyof T]>(calls)) {
    if (members[key] === undefined) continue
    if (names === undefined) {
      whole[key] = (...args: readonly unknown[]) => members[key]!(...args)
      continue
    }
    const [method, operation] = names
    const call: RuntimeCall = { service, method, operation }
    whole[key] = (...args: readonly unknown[]) => around(call, () => members[key]!(...args))
  }
  return whole as T
}
