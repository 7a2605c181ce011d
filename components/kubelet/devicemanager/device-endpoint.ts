import type { Channel } from "../../../pkg/cri/channel.ts"
import { CriError } from "../../../pkg/cri/errors.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import {
  Allocate,
  GetDevicePluginOptions,
  GetPreferredAllocation,
  ListAndWatch,
  PreStartContainer,
  type ContainerAllocation,
  type PluginDevice,
  type PluginOptions,
} from "./device-plugin-service.ts"

/** Milliseconds in which a plugin that registers must answer. Source: plugin/v1beta1/client.go dial. */
const CONNECT_MS = 10_000
/**
 * The longest time for a choice of devices, and for the work before a container starts. Source:
 * KubeletPreStartContainerRPCTimeoutInSecs in k8s.io/kubelet deviceplugin/v1beta1/constants.go.
 */
const CALL_MS = 30_000
/** The longest time for an allocation, which may set up a device. Upstream waits for ever. */
const ALLOCATE_MS = 120_000

export interface EndpointOptions extends Pick<ComponentContext, "spawn"> {
  readonly channel: Channel
  readonly devices: (devices: readonly PluginDevice[]) => void
  /** Called once, when the plugin no longer tells its devices; not after `stop`. */
  readonly ended: (why: unknown) => void
}

/** The connection to one registered device plugin. Source: pkg/kubelet/cm/devicemanager/endpoint.go. */
export class DeviceEndpoint {
  readonly #options: EndpointOptions
  readonly #stopping = new AbortController()
  #plugin: PluginOptions = { preStartRequired: false, getPreferredAllocationAvailable: false }

  constructor(options: EndpointOptions) {
    this.#options = options
  }

  /** Asks the plugin what it can do. @throws Error */
  async connect(): Promise<void> {
    this.#plugin = await this.#call("failed to get device plugin options", (channel, signal) =>
      channel.call(GetDevicePluginOptions, {}, { timeoutMs: CONNECT_MS, signal }),
    )
  }

  /** Follows the list of devices from now on. */
  follow(): void {
    this.#options.spawn("devices of a plugin", async () => {
      const { signal } = this.#stopping
      let why: unknown = new Error("the stream of devices has ended")
      try {
        for await (const { devices } of this.#options.channel.stream(ListAndWatch, {}, { signal }))
          if (!signal.aborted) this.#options.devices(devices)
      } catch (err) {
        why = err
      }
      if (signal.aborted) return
      this.stop()
      this.#options.ended(why)
    })
  }

  /** Returns the devices that the plugin would rather give; none when it has no opinion. @throws Error */
  async preferred(
    available: readonly string[],
    mustInclude: readonly string[],
    size: number,
  ): Promise<ReadonlySet<string>> {
    if (!this.#plugin.getPreferredAllocationAvailable) return new Set()
    const request = { containers: [{ available, mustInclude, size }] }
    const { containers } = await this.#call(
      "device plugin GetPreferredAllocation rpc failed with err",
      (channel, signal) => channel.call(GetPreferredAllocation, request, { timeoutMs: CALL_MS, signal }),
    )
    return new Set(containers[0]?.deviceIds)
  }

  /** Returns what the container gets with these devices. @throws Error */
  async allocate(deviceIds: readonly string[]): Promise<ContainerAllocation> {
    const { containers } = await this.#call(undefined, (channel, signal) =>
      channel.call(Allocate, { containers: [{ deviceIds }] }, { timeoutMs: ALLOCATE_MS, signal }),
    )
    const [container] = containers
    if (container === undefined) throw new Error("no containers return in allocation response")
    return container
  }

  /** Lets the plugin prepare the devices for a start of their container. @throws Error */
  async preStart(deviceIds: readonly string[]): Promise<void> {
    if (!this.#plugin.preStartRequired) return
    await this.#call("device plugin PreStartContainer rpc failed with err", (channel, signal) =>
      channel.call(PreStartContainer, { deviceIds }, { timeoutMs: CALL_MS, signal }),
    )
  }

  stop(): void {
    this.#stopping.abort()
    this.#options.channel.close()
  }

  async #call<T>(what: string | undefined, call: (channel: Channel, signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await call(this.#options.channel, this.#stopping.signal)
    } catch (err) {
      if (!(err instanceof CriError)) throw err
      const text = `rpc error: code = ${err.code} desc = ${err.message}`
      throw new Error(what === undefined ? text : `${what}: ${text}`, { cause: err })
    }
  }
}
