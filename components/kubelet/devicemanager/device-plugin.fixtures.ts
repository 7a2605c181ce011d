import { basename } from "node:path"
import type { CallOptions, Channel, StreamOptions } from "../../../pkg/cri/channel.ts"
import { CriError } from "../../../pkg/cri/errors.ts"
import { Mailbox } from "../../../pkg/cri/mailbox.ts"
import type { Procedure, Rpc } from "../../../pkg/grpc/rpc.ts"
import type { Fields, Init } from "../../../pkg/protobuf/message.ts"
import type { PluginSockets } from "../runtime/runtime.ts"
import { Register, type ContainerAllocation } from "./device-plugin-service.ts"

export interface DevicePluginBehaviour {
  readonly preStartRequired?: boolean
  /** Returns which of the devices it would rather give. */
  readonly preferred?: (available: readonly string[], size: number) => readonly string[]
  /** Answers an allocation; by default with an environment variable that has the ids. */
  readonly allocate?: (ids: readonly string[]) => Init<Fields> | Promise<Init<Fields>>
}

type Devices = Readonly<Record<string, "Healthy" | "Unhealthy">>

/** A device plugin in memory, which records its calls. */
export class FakeDevicePlugin {
  /** Calls in order, such as `Allocate gpu-0,gpu-1`. */
  readonly calls: string[] = []
  readonly #behaviour: DevicePluginBehaviour
  readonly #streams = new Set<Mailbox<object>>()
  #devices: Devices

  constructor(devices: Devices, behaviour: DevicePluginBehaviour = {}) {
    this.#devices = devices
    this.#behaviour = behaviour
  }

  get #told(): object {
    return { devices: Object.entries(this.#devices).map(([id, health]) => ({ id, health })) }
  }

  /** Tells these devices from now on. */
  tell(devices: Devices): void {
    this.#devices = devices
    for (const stream of this.#streams) stream.push(this.#told)
  }

  /** Ends its streams, as a plugin does that is stopped. */
  end(): void {
    for (const stream of this.#streams) stream.fail(new CriError("Unavailable", "ListAndWatch", "ended"))
  }

  /** Answers a call; `method` is the last part of the gRPC path. */
  async answer(method: string, request: object): Promise<object> {
    const { preStartRequired = false, preferred, allocate } = this.#behaviour
    if (method === "GetDevicePluginOptions")
      return { preStartRequired, getPreferredAllocationAvailable: preferred !== undefined }
    const { deviceIds = [], containers: [container = {}] = [] } = request as {
      deviceIds?: readonly string[]
      containers?: readonly { deviceIds?: string[]; available?: string[]; mustInclude?: string[]; size?: number }[]
    }
    const ids = method === "PreStartContainer" ? deviceIds : (container.deviceIds ?? container.available ?? [])
    this.calls.push(`${method} ${ids.join(",")}`)
    switch (method) {
      case "GetPreferredAllocation":
        return { containers: [{ deviceIds: preferred!(ids, container.size ?? 0) }] }
      case "Allocate":
        return { containers: [(await allocate?.(ids)) ?? { envs: { DEVICES: ids.join(",") } }] }
      case "PreStartContainer":
        return {}
      default:
        throw new CriError("Unimplemented", method, `unknown method ${method}`)
    }
  }

  async *stream(signal: AbortSignal | undefined): AsyncGenerator<object, void> {
    const stream = new Mailbox<object>()
    this.#streams.add(stream)
    signal?.addEventListener("abort", () => stream.end(), { once: true })
    stream.push(this.#told)
    try {
      yield* stream
    } finally {
      this.#streams.delete(stream)
    }
  }
}

/** Sockets in memory: plugins by the names of theirs, and the one at which they register. */
export class FakeDeviceSockets implements PluginSockets {
  /** Whether another kubelet has the socket. */
  isTaken = false
  readonly #plugins = new Map<string, FakeDevicePlugin>()
  #register: ((request: object) => Promise<unknown>) | undefined

  get isServed(): boolean {
    return this.#register !== undefined
  }

  /** Registers a plugin for the resource, with a socket of that name. @throws Error as the kubelet tells it */
  async register(
    resourceName: string,
    plugin: FakeDevicePlugin,
    { version = "v1beta1", endpoint = "plugin.sock" } = {},
  ): Promise<void> {
    this.#plugins.set(endpoint, plugin)
    await this.#register!({ version, endpoint, resourceName })
  }

  list = () => Promise.resolve([])
  watch = () => () => {}
  answers = () => Promise.resolve(this.isTaken)

  serve(_path: string, procedures: readonly Procedure[]) {
    const { rpc, answer } = procedures[0]!
    if (rpc.path !== Register.path) return Promise.resolve({ close: () => Promise.resolve() })
    const register = (sent: object) => answer(rpc.request.decode(rpc.request.encode(sent)))
    this.#register = register
    return Promise.resolve({
      close: () => {
        if (this.#register === register) this.#register = undefined
        return Promise.resolve()
      },
    })
  }

  connect(path: string): Channel {
    const plugin = this.#plugins.get(basename(path))
    const missing = (method: string) => new CriError("Unavailable", method, "no connection")
    return {
      async call<Req extends Fields, Res extends Fields>(
        rpc: Rpc<Req, Res>,
        request: Init<Req>,
        options: CallOptions = {},
      ) {
        const method = rpc.path.slice(rpc.path.lastIndexOf("/") + 1)
        if (plugin === undefined) throw missing(method)
        if (options.signal?.aborted === true) throw new CriError("Cancelled", method, `${method} was cancelled`)
        const sent = rpc.request.decode(rpc.request.encode(request))
        const answer = await plugin
          .answer(method, sent)
          .catch((err: unknown) => Promise.reject(CriError.from(method, err)))
        return rpc.response.decode(rpc.response.encode(answer as Init<Res>))
      },
      async *stream<Req extends Fields, Res extends Fields>(
        rpc: Rpc<Req, Res>,
        _request: Init<Req>,
        { signal }: StreamOptions = {},
      ) {
        if (plugin === undefined) throw missing("ListAndWatch")
        for await (const answer of plugin.stream(signal))
          yield rpc.response.decode(rpc.response.encode(answer as Init<Res>))
      },
      followConnection: (changed) => changed(plugin !== undefined),
      close() {},
    }
  }
}

/** Everything that a container can get with a device. */
export const EVERYTHING: Partial<ContainerAllocation> = {
  envs: { DEVICE: "yes" },
  mounts: [{ containerPath: "/opt/device", hostPath: "/srv/device", readOnly: true }],
  devices: [{ containerPath: "/dev/thing", hostPath: "/dev/thing0", permissions: "rw" }],
  annotations: { "example.com/note": "1", "io.kubernetes.container.hash": "not the kubelet's" },
  cdiDevices: [{ name: "example.com/thing=0" }],
}
