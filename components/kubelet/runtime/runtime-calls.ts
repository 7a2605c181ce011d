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

type Calls<T> = { readonly [K in keyof T]?: readonly [method: string, operation: string] }

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
  // Read from the runtime at each use, since that of a test changes with its faults.
  replacing(runtime, {
    containers: () => surrounded(runtime.containers, "runtime.v1.RuntimeService", RUNTIME_CALLS, around),
    images: () => surrounded(runtime.images, "runtime.v1.ImageService", IMAGE_CALLS, around),
  })

function surrounded<T extends object>(target: T, service: string, calls: Calls<T>, around: AroundCall): T {
  return new Proxy(target, {
    get(whole, key) {
      const member: unknown = Reflect.get(whole, key)
      if (typeof member !== "function") return member
      const [method, operation] = calls[key as keyof T] ?? []
      return (...args: unknown[]): unknown => {
        const run = () => Reflect.apply(member, whole, args) as unknown
        return method === undefined || operation === undefined ? run() : around({ service, method, operation }, run)
      }
    },
  })
}

function replacing<T extends object>(target: T, members: { readonly [K in keyof T]?: () => T[K] }): T {
  return new Proxy(target, {
    get(whole, key) {
      const replaced = members[key as keyof T]
      if (replaced !== undefined) return replaced()
      const member: unknown = Reflect.get(whole, key)
      return typeof member === "function" ? member.bind(whole) : member
    },
  })
}
