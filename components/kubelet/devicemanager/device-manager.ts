import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { ResourceStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { unitsOf } from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import type { Rejection } from "../model/rejection.ts"
import type { NodeResources } from "../model/capacity.ts"
import { isSidecar, type AnyContainer } from "../model/containers.ts"
import type { DeviceMetrics } from "../metrics/device-metrics.ts"
import type { PodFiles, PluginSockets, ServedSocket } from "../runtime/runtime.ts"
import { ContainerAllocation } from "./device-plugin-service.ts"
import { DevicePlugins } from "./device-plugins.ts"
import { openPluginSocket } from "./plugin-socket.ts"
import { PodDevices } from "./pod-devices.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"

/** Devices of a resource that have the same topology. The NUMA nodes are absent where the plugin does not tell them. */
export interface ListedDevices {
  readonly resourceName: string
  readonly deviceIds: readonly string[]
  readonly topology?: { readonly nodes: readonly { readonly id: number }[] }
}

export interface DeviceManagerOptions extends Pick<ComponentContext, "clock" | "log" | "spawn"> {
  /** Absent on a machine without plugins. */
  readonly sockets: PluginSockets | undefined
  readonly files: PodFiles
  readonly metrics?: DeviceMetrics
  /** The kubelet's root folder. */
  readonly root: string
  /** The folder of the sockets; undefined for no device plugins. */
  readonly folder: string | undefined
  /** Whether the pod runs on this node, or may run. */
  readonly isActive: (podUid: string) => boolean
  /** Called when the amounts of the Node have changed. */
  readonly changed: () => void
  /** Called when the health of a device of the pod changed. */
  readonly healthChanged: (podUid: string) => void
}

/** The largest answer to an allocation, in bytes: it is kept for as long as the pod runs. */
const LARGEST_ALLOCATION = 1024 * 1024

/** Devices of a pod that its later containers may have, by resource. */
type Reusable = Map<string, ReadonlySet<string>>

/**
 * Gives containers the devices of device plugins: it chooses them when the node admits a pod, asks the plugin what the
 * container gets with them, and keeps them for the pod until it has ended. Errors have upstream's words, since users
 * see them. Source: pkg/kubelet/cm/devicemanager/manager.go.
 *
 * A plugin that hangs holds up only pods that want its devices: choices are made one after the other for each resource,
 * and never while the admission of pods waits.
 */
export class DeviceManager {
  readonly #options: DeviceManagerOptions
  readonly #plugins: DevicePlugins | undefined
  readonly #pods: PodDevices
  /** Devices that were chosen and are not yet allocated, by resource. */
  readonly #pending = new Map<string, Set<string>>()
  /** The last choice of devices of each resource. */
  readonly #choosing = new Map<string, Promise<unknown>>()
  #socket: ServedSocket | undefined
  #stopped = false

  constructor(options: DeviceManagerOptions) {
    this.#options = options
    const { sockets, folder, files, root, clock, log, spawn, metrics } = options
    this.#pods = new PodDevices(files, root)
    if (sockets === undefined || folder === undefined) return
    this.#plugins = new DevicePlugins({
      sockets,
      metrics,
      folder,
      clock,
      log,
      spawn,
      changed: (resources) => {
        if (this.#stopped) return
        if (resources !== undefined) spawn("record of devices", () => this.#save())
        options.changed()
      },
      healthChanged: (resource, ids) => this.#tellHealth(resource, ids),
    })
  }

  /** The handler of plugins that register as drivers do, by the folder of registration sockets. */
  get plugins(): DevicePlugins | undefined {
    return this.#plugins
  }

  /** Reads the devices that containers have, and opens the socket for plugins. */
  async start(): Promise<void> {
    const { sockets, folder, files, log } = this.#options
    const plugins = this.#plugins
    if (plugins === undefined || sockets === undefined || folder === undefined) return
    try {
      plugins.expect(await this.#pods.load())
    } catch (err) {
      log.error("Failed to read which containers have which devices; going on without", { err })
    }
    this.#socket = await openPluginSocket({ sockets, files, folder, log, answer: (request) => plugins.answer(request) })
    if (this.#stopped) await this.#socket?.close()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#plugins?.stop()
    await this.#socket?.close()
  }

  /** Returns the amounts for the Node; `before` is the capacity that it shows. */
  amounts(before: Readonly<Record<string, string>> | undefined): NodeResources {
    return this.#plugins?.amounts(before ?? {}) ?? NO_AMOUNTS
  }

  /**
   * Returns the node as a pod that has devices sees it: with at least as many as containers have, although a plugin may
   * not have come back yet. Source: sanitizeNodeAllocatable.
   */
  nodeFor(pod: Pod, node: Node): Node {
    if (this.#pods.of(pod.metadata.uid ?? "").length === 0) return node
    const allocatable: Record<string, string> = { ...node.status.allocatable }
    for (const resource of this.#pods.resources()) {
      const used = this.#pods.inUse(resource).size
      if (unitsOf(allocatable[resource] ?? "0") < used) allocatable[resource] = String(used)
    }
    return { ...node, status: { ...node.status, allocatable } }
  }

  /** Allocates the devices of all containers of a pod. Returns why the node rejects the pod if that fails. */
  async admit(pod: Pod): Promise<Rejection | undefined> {
    try {
      await this.#allocate(pod)
      return undefined
    } catch (err) {
      const why = errorMessage(err)
      return { reason: "UnexpectedAdmissionError", message: `Allocate failed due to ${why}, which is unexpected` }
    }
  }

  /**
   * Prepares the devices of a container that is about to start, and returns what it gets with them. A container that
   * has none yet, because its plugin came after the pod, is given them now. @throws Error with a message for users
   */
  async prepare(pod: Pod, container: AnyContainer): Promise<ContainerAllocation> {
    const uid = pod.metadata.uid ?? ""
    const wanted = this.#wanted(pod, container).filter(({ count }) => count > 0)
    if (wanted.length === 0) return NOTHING
    const had = () => this.#pods.ofContainer(uid, container.name)
    if (wanted.some(({ resource }) => !had().some((allocation) => allocation.resource === resource)))
      await this.#allocate(pod, container.name)
    for (const { resource, deviceIds } of had()) await this.#plugins?.endpoint(resource)?.preStart(deviceIds)
    return merged(had().map(({ allocation }) => allocation))
  }

  /** Returns the devices that a container has, one by one, and by NUMA node where that is known. */
  devicesOf(podUid: string, container: string): readonly ListedDevices[] {
    return this.#pods
      .ofContainer(podUid, container)
      .flatMap(({ resource, deviceIds }) => deviceIds.flatMap((id) => this.#listed(resource, id)))
  }

  /** Returns all devices that may be given to containers, whether they have been or not. */
  allocatable(): readonly ListedDevices[] {
    const plugins = this.#plugins
    if (plugins === undefined) return []
    return plugins
      .resources()
      .flatMap((resource) => [...plugins.healthy(resource)].flatMap((id) => this.#listed(resource, id)))
  }

  /** Source: pkg/kubelet/cm/helpers_linux.go containerDevicesFromResourceDeviceInstances. */
  #listed(resourceName: string, id: string): readonly ListedDevices[] {
    const nodes = this.#plugins?.numaNodes(resourceName, id) ?? []
    if (nodes.length === 0) return [{ resourceName, deviceIds: [id] }]
    return nodes.map((node) => ({ resourceName, deviceIds: [id], topology: { nodes: [{ id: node }] } }))
  }

  /** Returns the devices of the container and their health, as its status shows them. */
  resourceStatuses(pod: Pod, { name }: AnyContainer): readonly ResourceStatus[] {
    return this.#pods.ofContainer(pod.metadata.uid ?? "", name).map(({ resource, deviceIds }) => ({
      name: resource,
      resources: deviceIds.map((resourceID) => ({
        resourceID,
        health: this.#plugins?.wasHealthy(resource, resourceID) === false ? "Unhealthy" : "Healthy",
      })),
    }))
  }

  /** @param only the container for which devices are allocated; all of them without it */
  async #allocate(pod: Pod, only?: string): Promise<void> {
    if (this.#plugins === undefined) return
    const uid = pod.metadata.uid ?? ""
    const reusable: Reusable = new Map()
    let isChanged = false
    const { initContainers = [], containers } = pod.spec
    for (const container of [...initContainers, ...containers]) {
      if (only === undefined || container.name === only)
        isChanged = (await this.#allocateFor(pod, container, reusable)) || isChanged
      // Init containers have ended before others begin, which can have their devices; sidecars keep theirs.
      const ends = initContainers.includes(container) && !isSidecar(container)
      for (const { resource, deviceIds } of this.#pods.ofContainer(uid, container.name)) {
        const others = [...(reusable.get(resource) ?? [])].filter((id) => !deviceIds.includes(id))
        reusable.set(resource, new Set(ends ? [...others, ...deviceIds] : others))
      }
    }
    if (isChanged) await this.#save()
  }

  /** @returns whether the container got devices */
  async #allocateFor(pod: Pod, container: AnyContainer, reusable: Reusable): Promise<boolean> {
    const uid = pod.metadata.uid ?? ""
    let isChanged = false
    for (const { resource, count } of this.#wanted(pod, container)) {
      this.#free()
      const deviceIds = await this.#inTurn(resource, () =>
        this.#choose({
          uid,
          container: container.name,
          resource,
          count,
          reusable: reusable.get(resource) ?? new Set(),
        }),
      )
      if (deviceIds.length === 0) continue
      try {
        const endpoint = this.#plugins!.endpoint(resource)
        if (endpoint === undefined) throw new Error(`unknown Device Plugin ${resource}`)
        const { clock, metrics } = this.#options
        const began = clock.monotonic()
        const allocation = await endpoint
          .allocate(deviceIds)
          .finally(() => metrics?.allocated(resource, clock.monotonic() - began))
        const bytes = ContainerAllocation.encode(allocation).byteLength
        if (bytes > LARGEST_ALLOCATION)
          throw new Error(`the answer of the device plugin has ${bytes} bytes: at most ${LARGEST_ALLOCATION} are taken`)
        this.#pods.add({ podUid: uid, container: container.name, resource, deviceIds, allocation })
        isChanged = true
      } finally {
        for (const id of deviceIds) this.#pending.get(resource)?.delete(id)
      }
    }
    return isChanged
  }

  /**
   * Chooses the devices that must be allocated, and keeps them from others; none when the container has what it needs.
   * Source: devicesToAllocate, for a machine without a topology manager.
   */
  async #choose({ uid, container, resource, count, reusable }: Choice): Promise<readonly string[]> {
    const plugins = this.#plugins!
    const had = this.#pods.ofContainer(uid, container).find((allocation) => allocation.resource === resource)?.deviceIds
    if (had !== undefined && had.length !== count)
      throw new Error(
        `pod "${uid}" container "${container}" changed request for resource "${resource}" from ${had.length} to ${count}`,
      )
    if (!plugins.has(resource)) throw new Error(`cannot allocate unregistered device ${resource}`)
    const healthy = plugins.healthy(resource)
    if (healthy.size === 0) throw new Error(`no healthy devices present; cannot allocate unhealthy devices ${resource}`)
    if (had?.every((id) => healthy.has(id)) === false)
      throw new Error(
        `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`,
      )
    if (had !== undefined || count === 0) return []
    const chosen = [...reusable].toSorted().slice(0, count)
    const missing = count - chosen.length
    if (missing > 0) {
      const taken = this.#pods.inUse(resource)
      const pending = this.#pending.get(resource)
      const available = [...healthy].filter((id) => !taken.has(id) && pending?.has(id) !== true).toSorted()
      if (available.length < missing)
        throw new Error(
          `requested number of devices unavailable for ${resource}. Requested: ${missing}, Available: ${available.length}`,
        )
      const endpoint = plugins.endpoint(resource)
      const preferred = (await endpoint?.preferred([...available, ...chosen], chosen, count)) ?? new Set()
      const sorted = [...available.filter((id) => preferred.has(id)), ...available.filter((id) => !preferred.has(id))]
      pushAll(chosen, sorted.slice(0, missing))
    }
    const pending = this.#pending.get(resource) ?? new Set()
    this.#pending.set(resource, pending)
    for (const id of chosen) pending.add(id)
    return chosen
  }

  /** Returns the resources of device plugins that the container wants, without those that a claim provides. */
  #wanted({ status }: Pod, { name, resources }: AnyContainer): readonly { resource: string; count: number }[] {
    if (this.#plugins === undefined || resources.limits === undefined) return []
    const { requestMappings = [] } = status.extendedResourceClaimStatus ?? {}
    const used = this.#pods.resources()
    return Object.entries(resources.limits).flatMap(([resource, amount]) =>
      (this.#plugins!.has(resource) || used.has(resource)) &&
      !requestMappings.some((mapping) => mapping.containerName === name && mapping.resourceName === resource)
        ? [{ resource, count: unitsOf(amount) }]
        : [],
    )
  }

  /** Takes back the devices of pods that have ended. */
  #free(): void {
    for (const uid of this.#pods.pods()) if (!this.#options.isActive(uid)) this.#pods.remove(uid)
  }

  /** Runs choices of one resource one after the other. */
  #inTurn<T>(resource: string, run: () => Promise<T>): Promise<T> {
    const result = (this.#choosing.get(resource) ?? Promise.resolve()).then(run)
    this.#choosing.set(
      resource,
      result.catch(() => undefined),
    )
    return result
  }

  async #save(): Promise<void> {
    try {
      await this.#pods.save(this.#plugins?.resources() ?? [])
    } catch (err) {
      this.#options.log.error("Failed to record which containers have which devices", { err })
    }
  }

  #tellHealth(resource: string, changed: ReadonlySet<string>): void {
    if (this.#stopped) return
    for (const uid of this.#pods.pods()) {
      const own = this.#pods.of(uid).filter((allocation) => allocation.resource === resource)
      if (own.some(({ deviceIds }) => deviceIds.some((id) => changed.has(id)))) this.#options.healthChanged(uid)
    }
  }
}

interface Choice {
  readonly uid: string
  readonly container: string
  readonly resource: string
  readonly count: number
  readonly reusable: ReadonlySet<string>
}

const NO_AMOUNTS: NodeResources = { capacity: {}, allocatable: {} }
const NOTHING: ContainerAllocation = { envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] }

/** Joins what a container gets of several resources; of two with the same name or path the first counts. */
const merged = (all: readonly ContainerAllocation[]): ContainerAllocation => ({
  envs: firsts(all.map(({ envs }) => envs)),
  annotations: firsts(all.map(({ annotations }) => annotations)),
  mounts: unique(
    all.flatMap(({ mounts }) => mounts),
    ({ containerPath }) => containerPath,
  ),
  devices: unique(
    all.flatMap(({ devices }) => devices),
    ({ containerPath }) => containerPath,
  ),
  cdiDevices: unique(
    all.flatMap(({ cdiDevices }) => cdiDevices),
    ({ name }) => name,
  ),
})

const firsts = (all: readonly Readonly<Record<string, string>>[]): Record<string, string> =>
  Object.fromEntries(all.toReversed().flatMap((each) => Object.entries(each)))

const unique = <T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] => {
  const seen = new Map<string, T>()
  for (const item of items) if (!seen.has(keyOf(item))) seen.set(keyOf(item), item)
  return [...seen.values()]
}
