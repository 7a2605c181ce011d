import type { ImageService, RuntimeService } from "../../../pkg/cri/service.ts"
import { endingWith, type Tracing } from "../../../pkg/tracing/tracing.ts"
import type { ContainerRuntime } from "./runtime.ts"

/** Methods that are one call of the runtime, by the name of the CRI's procedure. */
const RUNTIME_CALLS: Partial<Record<keyof RuntimeService, string>> = {
  version: "Version",
  status: "Status",
  updateRuntimeConfig: "UpdateRuntimeConfig",
  runPodSandbox: "RunPodSandbox",
  stopPodSandbox: "StopPodSandbox",
  removePodSandbox: "RemovePodSandbox",
  podSandboxStatus: "PodSandboxStatus",
  listPodSandboxes: "ListPodSandbox",
  createContainer: "CreateContainer",
  startContainer: "StartContainer",
  stopContainer: "StopContainer",
  removeContainer: "RemoveContainer",
  listContainers: "ListContainers",
  containerStatus: "ContainerStatus",
  updateContainerResources: "UpdateContainerResources",
  reopenContainerLog: "ReopenContainerLog",
  execSync: "ExecSync",
}

const IMAGE_CALLS: Partial<Record<keyof ImageService, string>> = {
  listImages: "ListImages",
  imageStatus: "ImageStatus",
  pullImage: "PullImage",
  removeImage: "RemoveImage",
  imageFsInfo: "ImageFsInfo",
}

/**
 * Returns the runtime with a span for each call of the CRI that belongs to a span of the kubelet. Names and attributes
 * are those of otelgrpc, which upstream's client has. Requests are left out: they hold environment variables and
 * registry passwords.
 */
export const tracedRuntime = (runtime: ContainerRuntime, tracing: Tracing): ContainerRuntime =>
  // Read from the runtime at each use, since that of a test changes with its faults.
  replacing(runtime, {
    containers: () => tracedService(runtime.containers, "runtime.v1.RuntimeService", RUNTIME_CALLS, tracing),
    images: () => tracedService(runtime.images, "runtime.v1.ImageService", IMAGE_CALLS, tracing),
  })

function tracedService<T extends object>(
  service: T,
  name: string,
  calls: Readonly<Record<string, string | undefined>>,
  tracing: Tracing,
): T {
  return new Proxy(service, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key)
      if (typeof member !== "function") return member
      const call = typeof key === "string" ? calls[key] : undefined
      return (...args: unknown[]): unknown => {
        const run = () => Reflect.apply(member, target, args) as unknown
        if (call === undefined) return run()
        const attributes = { "rpc.system": "grpc", "rpc.service": name, "rpc.method": call }
        const span = tracing.start(`${name}/${call}`, { kind: "client", attributes })
        return span === undefined ? run() : endingWith(tracing, span, run)
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
