import { join } from "node:path"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import { CriError } from "../../../pkg/cri/errors.ts"
import { procedure, type Procedure } from "../../../pkg/grpc/rpc.ts"
import { isSidecar, type AnyContainer } from "../model/containers.ts"
import type { DeviceManager } from "../devicemanager/device-manager.ts"
import type { DraManager } from "../dra/dra-manager.ts"
import type { DeviceMetrics } from "../metrics/device-metrics.ts"
import type { PluginSockets, PodFiles, ServedSocket } from "../runtime/runtime.ts"
import { Get, GetAllocatableResources, List, ListAlpha, type PodResources } from "./pod-resources-service.ts"
import { TokenBucket } from "./token-bucket.ts"

/** Where programs look for the socket. Source: pkg/kubelet/kubelet_getters.go getPodResourcesDir. */
export const POD_RESOURCES_FOLDER = "/var/lib/kubelet/pod-resources"
export const POD_RESOURCES_SOCKET = "kubelet.sock"

/** Requests a second, and at once. Source: pkg/kubelet/apis/podresources/constants.go. */
const PER_SECOND = 100
const BURST = 10

export interface PodResourcesOptions extends Pick<ComponentContext, "clock" | "log"> {
  /** Absent on a machine in memory, which has no sockets. */
  readonly sockets: PluginSockets | undefined
  readonly files: PodFiles
  /** The folder of the socket; undefined for none. */
  readonly folder: string | undefined
  readonly devices: Pick<DeviceManager, "devicesOf" | "allocatable">
  readonly dra: Pick<DraManager, "claimsOf">
  readonly metrics: DeviceMetrics
  /** Returns the pods of the node that have not ended. */
  readonly pods: () => readonly Pod[]
}

/**
 * Serves the API by which programs of the node, such as exporters of metrics of GPUs, learn which devices containers
 * have. Source: pkg/kubelet/apis/podresources/server_v1.go, KEP-606, KEP-2043, KEP-3695. There is no CPU manager and no
 * memory manager here, so `cpu_ids` and `memory` are empty, as with their policies `none` and `None`.
 */
export class PodResourcesServer {
  readonly #options: PodResourcesOptions
  readonly #limit: TokenBucket
  #socket: ServedSocket | undefined
  #stopped = false

  constructor(options: PodResourcesOptions) {
    this.#options = options
    this.#limit = new TokenBucket(options.clock, PER_SECOND, BURST)
  }

  /** Opens the socket. If that fails, it is logged, and everything else works. */
  async start(): Promise<void> {
    const { sockets, files, folder, log } = this.#options
    if (sockets === undefined || folder === undefined) return
    const path = join(folder, POD_RESOURCES_SOCKET)
    try {
      await files.makeFolder(folder, 0o750)
      if (await sockets.answers(path))
        return log.warn("Another kubelet of this machine serves the resources of its pods: this one does not", {
          socket: path,
        })
      await files.remove(path)
      this.#socket = await sockets.serve(path, this.procedures())
    } catch (err) {
      log.error("Failed to open the socket for the resources of pods", { socket: path, err })
    }
    if (this.#stopped) await this.#socket?.close()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#socket?.close()
  }

  procedures(): readonly Procedure[] {
    const { metrics, devices, pods } = this.#options
    const all = () => pods().map((pod) => this.#of(pod))
    return [
      procedure(List, async () => {
        this.#count("v1", "list")
        return { podResources: all() }
      }),
      procedure(GetAllocatableResources, async () => {
        this.#count("v1", "get_allocatable")
        return { devices: devices.allocatable() }
      }),
      procedure(Get, async ({ podName, podNamespace }) => {
        this.#count("v1", "get")
        const pod = pods().find(({ metadata }) => metadata.name === podName && metadata.namespace === podNamespace)
        if (pod !== undefined) return { podResources: this.#of(pod) }
        metrics.failed("v1", "get")
        throw new Error(`pod ${podName} in namespace ${podNamespace} not found`)
      }),
      procedure(ListAlpha, async () => {
        this.#count("v1alpha1")
        return { podResources: all().map(withDevicesOnly) }
      }),
    ]
  }

  /** Counts a request. @throws CriError when there are too many */
  #count(version: "v1" | "v1alpha1", endpoint?: "list" | "get" | "get_allocatable"): void {
    if (!this.#limit.allow()) throw new CriError("ResourceExhausted", "PodResources", "rejected by rate limit")
    this.#options.metrics.asked(version, endpoint)
  }

  /** Init containers have given their devices back, but for sidecars. */
  #of(pod: Pod): PodResources {
    const { metadata, spec } = pod
    const containers: readonly AnyContainer[] = [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers]
    return {
      name: metadata.name,
      namespace: metadata.namespace,
      containers: containers.map((container) => ({
        name: container.name,
        devices: this.#options.devices.devicesOf(metadata.uid ?? "", container.name),
        dynamicResources: this.#options.dra.claimsOf(pod, container).map(({ name, namespace, drivers }) => ({
          claimName: name,
          claimNamespace: namespace,
          claimResources: [...drivers].flatMap(([driverName, prepared]) =>
            prepared.map(({ poolName, deviceName, shareId, cdiDeviceIds }) => ({
              driverName,
              poolName,
              deviceName,
              shareId,
              cdiDevices: cdiDeviceIds.map((id) => ({ name: id })),
            })),
          ),
        })),
      })),
    }
  }
}

/** What v1alpha1 knows: neither claims, nor sidecars, nor NUMA nodes. Differs from upstream: sidecars are listed. */
const withDevicesOnly = ({ name, namespace, containers = [] }: PodResources): PodResources => ({
  name,
  namespace,
  containers: containers.map(({ name, devices = [] }) => ({
    name,
    devices: devices.map(({ resourceName, deviceIds }) => ({ resourceName, deviceIds })),
  })),
})
