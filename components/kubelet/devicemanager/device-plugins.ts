import { join } from "node:path"
import { isExtendedResource } from "../../../pkg/api/core/v1/resources/resource-names.ts"
import type { Timer } from "../../../pkg/clock/clock.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import type { DeviceMetrics } from "../metrics/device-metrics.ts"
import type { NodeResources } from "../model/capacity.ts"
import type { PluginHandler } from "../plugins/plugin-registry.ts"
import type { PluginInfo } from "../plugins/registration-service.ts"
import type { PluginSockets } from "../runtime/runtime.ts"
import { DeviceEndpoint } from "./device-endpoint.ts"
import { VERSION, type PluginDevice, type RegisterRequest } from "./device-plugin-service.ts"

export interface DevicePluginsOptions extends Pick<ComponentContext, "clock" | "log" | "spawn"> {
  readonly sockets: PluginSockets
  readonly metrics?: DeviceMetrics | undefined
  /** The folder of the kubelet's socket and of the plugins' sockets. */
  readonly folder: string
  /** Called when amounts have changed; `resources` are those with plugins if these have changed too. */
  readonly changed: (resources: readonly string[] | undefined) => void
  /** Called with devices that have become healthy or unhealthy. */
  readonly healthChanged: (resource: string, deviceIds: ReadonlySet<string>) => void
}

/** How long the devices of a plugin that has gone are still counted. Source: types.go endpointStopGracePeriod. */
export const GRACE_MS = 300_000
/** Bounds of what plugins may say, far above what there is. */
const MOST_RESOURCES = 256
const MOST_DEVICES = 100_000
const LONGEST_ID = 253
const MOST_NUMA_NODES = 64

interface Entry {
  endpoint: DeviceEndpoint | undefined
  /** Whether each device was healthy in the plugin's last list. */
  devices: ReadonlyMap<string, boolean>
  /** The NUMA nodes of devices whose plugin tells them. */
  numaNodes: ReadonlyMap<string, readonly number[]>
  /** Whether the plugin has sent its devices and will send changes. */
  isLive: boolean
  /** Ends the grace of a plugin that has gone. */
  grace: Timer | undefined
}

/**
 * The registered device plugins, one for each resource, and their devices. A plugin that registers again takes the
 * place of the one before. Source: pkg/kubelet/cm/devicemanager/manager.go, plugin/v1beta1/server.go. Differs from
 * upstream: a socket is only looked for in the folder itself, and what a plugin may say is bounded.
 */
export class DevicePlugins implements PluginHandler {
  readonly #options: DevicePluginsOptions
  readonly #entries = new Map<string, Entry>()
  /** Resources that are no longer counted; the Node shows 0 of them. */
  readonly #gone = new Set<string>()
  #stopped = false

  constructor(options: DevicePluginsOptions) {
    this.#options = options
  }

  /** Notes resources that had plugins before this kubelet started: there is none of them until their plugins come. */
  expect(resources: readonly string[]): void {
    for (const resource of resources) this.#leave(resource, this.#entry(resource))
  }

  stop(): void {
    this.#stopped = true
    for (const { endpoint, grace } of this.#entries.values()) {
      endpoint?.stop()
      grace?.cancel()
    }
  }

  /** Answers a plugin that registers by the kubelet's socket. @throws Error whose message the plugin gets */
  async answer({ version, endpoint, resourceName }: RegisterRequest): Promise<object> {
    if (version !== VERSION)
      throw new Error(
        `requested API version ${JSON.stringify(version)} is not supported by kubelet. Supported version is ["${VERSION}"]`,
      )
    if (endpoint === "" || endpoint.includes("/") || endpoint === "." || endpoint === "..")
      throw new Error(
        `the endpoint ${JSON.stringify(endpoint.slice(0, LONGEST_ID))} is not the name of a socket in ${this.#options.folder}`,
      )
    this.#check(resourceName)
    this.#options.metrics?.registered(resourceName)
    await this.#connect(resourceName, join(this.#options.folder, endpoint))
    return {}
  }

  validate({ name, supportedVersions }: PluginInfo): void {
    if (!supportedVersions.includes(VERSION))
      throw new Error(
        `manager version, ${VERSION}, is not among plugin supported versions [${supportedVersions.join(" ")}]`,
      )
    this.#check(name)
  }

  register({ name, endpoint }: PluginInfo): void {
    const { spawn, log } = this.#options
    spawn("registration of a device plugin", () =>
      this.#connect(name, endpoint).catch((err: unknown) =>
        log.warn("Failed to connect to a device plugin", { resource: name, socket: endpoint, err }),
      ),
    )
  }

  deregister({ name }: PluginInfo): void {
    const entry = this.#entries.get(name)
    entry?.endpoint?.stop()
    if (entry !== undefined) this.#leave(name, entry)
  }

  /** Whether the resource has a plugin, or had one a short time ago. */
  has(resource: string): boolean {
    return this.#entries.has(resource)
  }

  endpoint(resource: string): DeviceEndpoint | undefined {
    return this.#entries.get(resource)?.endpoint
  }

  /** Returns the devices that may be given to containers. */
  healthy(resource: string): ReadonlySet<string> {
    const { isLive, devices } = this.#entries.get(resource) ?? NO_ENTRY
    return new Set(isLive ? [...devices].flatMap(([id, isHealthy]) => (isHealthy ? [id] : [])) : [])
  }

  /** Whether the device was healthy in its plugin's last list; one that is unknown counts as healthy. */
  wasHealthy(resource: string, deviceId: string): boolean {
    return this.#entries.get(resource)?.devices.get(deviceId) ?? true
  }

  /** Returns the NUMA nodes of a device; none when its plugin does not tell them. */
  numaNodes(resource: string, deviceId: string): readonly number[] {
    return this.#entries.get(resource)?.numaNodes.get(deviceId) ?? []
  }

  resources(): readonly string[] {
    return [...this.#entries.keys()].toSorted()
  }

  /**
   * Returns the amounts for the Node; `before` is the capacity that it shows. A resource that is gone stays there
   * with 0.
   */
  amounts(before: Readonly<Record<string, string>>): NodeResources {
    for (const resource of this.#gone) if (before[resource] === "0") this.#gone.delete(resource)
    const zeros = [...this.#gone].map((resource) => [resource, "0"] as const)
    const entries = [...this.#entries]
    return {
      capacity: Object.fromEntries([...zeros, ...entries.map(([name, { devices }]) => [name, String(devices.size)])]),
      allocatable: Object.fromEntries([...zeros, ...entries.map(([name]) => [name, String(this.healthy(name).size)])]),
    }
  }

  #check(resource: string): void {
    if (!isExtendedResource(resource))
      throw new Error(`the ResourceName ${JSON.stringify(resource.slice(0, LONGEST_ID))} is invalid`)
    if (!this.#entries.has(resource) && this.#entries.size >= MOST_RESOURCES)
      throw new Error(`there are plugins for ${MOST_RESOURCES} resources, and no more are taken`)
  }

  #entry(resource: string): Entry {
    const known = this.#entries.get(resource)
    if (known !== undefined) return known
    const entry: Entry = {
      endpoint: undefined,
      devices: new Map(),
      numaNodes: new Map(),
      isLive: false,
      grace: undefined,
    }
    this.#entries.set(resource, entry)
    this.#gone.delete(resource)
    return entry
  }

  async #connect(resource: string, socket: string): Promise<void> {
    const { sockets, spawn, log, changed } = this.#options
    const endpoint: DeviceEndpoint = new DeviceEndpoint({
      spawn,
      channel: sockets.connect(socket),
      devices: (devices) => this.#setDevices(resource, endpoint, devices),
      ended: (why) => this.#ended(resource, endpoint, why),
    })
    try {
      await endpoint.connect()
      // Another plugin may have registered meanwhile.
      this.#check(resource)
    } catch (err) {
      endpoint.stop()
      throw err
    }
    if (this.#stopped) return endpoint.stop()
    const isNew = !this.#entries.has(resource)
    const entry = this.#entry(resource)
    entry.endpoint?.stop()
    entry.grace?.cancel()
    entry.endpoint = endpoint
    log.info("A device plugin has registered", { resource, socket })
    changed(isNew ? this.resources() : undefined)
    endpoint.follow()
  }

  #setDevices(resource: string, endpoint: DeviceEndpoint, devices: readonly PluginDevice[]): void {
    const entry = this.#entries.get(resource)
    if (entry?.endpoint !== endpoint) return
    if (devices.length > MOST_DEVICES || devices.some(({ id }) => id === "" || id.length > LONGEST_ID)) {
      endpoint.stop()
      this.#ended(
        resource,
        endpoint,
        new Error(
          `it lists ${devices.length} devices: at most ${MOST_DEVICES} are taken, with ids of 1 to ${LONGEST_ID} characters`,
        ),
      )
      return
    }
    const before = entry.devices
    entry.devices = new Map(devices.map(({ id, health }) => [id, health === "Healthy"]))
    entry.numaNodes = new Map(
      devices.flatMap(({ id, topology }) => {
        const nodes = (topology?.nodes ?? []).slice(0, MOST_NUMA_NODES).map((node) => node.id)
        return nodes.length === 0 ? [] : [[id, nodes] as const]
      }),
    )
    entry.isLive = true
    const different = new Set([...entry.devices].flatMap(([id, is]) => (before.get(id) === is ? [] : [id])))
    this.#options.changed(undefined)
    if (different.size > 0) this.#options.healthChanged(resource, different)
  }

  #ended(resource: string, endpoint: DeviceEndpoint, why: unknown): void {
    const entry = this.#entries.get(resource)
    if (this.#stopped || entry?.endpoint !== endpoint) return
    this.#options.log.warn("A device plugin has gone; its devices are given to no more containers", {
      resource,
      err: why,
    })
    this.#leave(resource, entry)
  }

  /** Gives a resource without a plugin its grace. */
  #leave(resource: string, entry: Entry): void {
    entry.isLive = false
    entry.grace?.cancel()
    entry.grace = this.#options.clock.setTimeout(() => {
      this.#entries.delete(resource)
      this.#gone.add(resource)
      this.#options.changed(this.resources())
    }, GRACE_MS)
    this.#options.changed(undefined)
  }
}

const NO_ENTRY: Pick<Entry, "isLive" | "devices"> = { isLive: false, devices: new Map() }
