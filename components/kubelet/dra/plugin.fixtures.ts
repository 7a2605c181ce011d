import type { Channel, StreamOptions } from "../../../pkg/cri/channel.ts"
import { CriError } from "../../../pkg/cri/errors.ts"
import { Mailbox } from "../../../pkg/cri/mailbox.ts"
import type { Decoded, Fields, Init } from "../../../pkg/protobuf/message.ts"
import type { Rpc } from "../../../pkg/grpc/rpc.ts"
import type { PluginSockets } from "../runtime/runtime.ts"

type Claim = { readonly uid?: string; readonly name?: string; readonly namespace?: string }
interface Answer {
  readonly devices?: readonly object[]
  readonly error?: string
}

export interface PluginBehaviour {
  readonly driver: string
  readonly versions?: readonly string[]
  readonly type?: string
  /** Returns the result for one claim. */
  readonly prepare?: (claim: Claim) => Answer
  readonly unprepare?: (claim: Claim) => Answer
  /** Whether it has the service that tells the health of devices. */
  readonly tellsHealth?: boolean
}

type Health = "Unknown" | "Healthy" | "Unhealthy"

/** A plugin in memory, which records its calls. */
export class FakePlugin {
  /** Calls in order, such as `prepare default/claim`, `registered` or `refused: <error>`. */
  readonly calls: string[] = []
  /** How often the kubelet has asked for the health of devices. */
  watches = 0
  readonly #behaviour: PluginBehaviour
  readonly #registered = Promise.withResolvers<void>()
  /** The open streams of health. */
  readonly #streams = new Set<Mailbox<object>>()

  constructor(behaviour: PluginBehaviour) {
    this.#behaviour = behaviour
  }

  /** Reports the health of its device `gpu-0`. */
  tell(health: Health, more: { readonly message?: string; readonly healthCheckTimeoutSeconds?: number } = {}): void {
    const device = { poolName: "pool", deviceName: "gpu-0" }
    for (const stream of this.#streams) stream.push({ devices: [{ device, health, ...more }] })
  }

  /** Ends the streams of health. */
  endStreams(): void {
    for (const stream of this.#streams) stream.fail(new CriError("Unavailable", "NodeWatchResources", "ended"))
  }

  /** Opens a stream of health. */
  async *stream(signal: AbortSignal | undefined): AsyncGenerator<object, void> {
    this.watches++
    if (this.#behaviour.tellsHealth !== true)
      throw new CriError("Unimplemented", "NodeWatchResources", "unknown service v1alpha1.DRAResourceHealth")
    const stream = new Mailbox<object>()
    this.#streams.add(stream)
    signal?.addEventListener("abort", () => stream.end(), { once: true })
    try {
      yield* stream
    } finally {
      this.#streams.delete(stream)
    }
  }

  /** Resolves when the kubelet has reported the result of a registration for the first time. */
  get registered(): Promise<void> {
    return this.#registered.promise
  }

  /** Answers a call; `method` is the last part of the gRPC path. */
  answer(method: string, request: object): object {
    const { driver, type = "DRAPlugin", versions = ["v1.DRAPlugin"], prepare, unprepare } = this.#behaviour
    switch (method) {
      case "GetInfo":
        return { type, name: driver, endpoint: "", supportedVersions: versions }
      case "NotifyRegistrationStatus": {
        const { pluginRegistered, error } = request as { pluginRegistered?: boolean; error?: string }
        this.calls.push(pluginRegistered === true ? "registered" : `refused: ${error}`)
        this.#registered.resolve()
        return {}
      }
      case "NodePrepareResources":
        return this.#each("prepare", request, (claim) => prepare?.(claim) ?? { devices: [deviceOf(driver, claim)] })
      case "NodeUnprepareResources":
        return this.#each("unprepare", request, (claim) => unprepare?.(claim) ?? {})
      default:
        throw new CriError("Unimplemented", method, `unknown method ${method}`)
    }
  }

  #each(call: string, request: object, answer: (claim: Claim) => Answer): object {
    const { claims = [] } = request as { claims?: readonly Claim[] }
    for (const { namespace, name } of claims) this.calls.push(`${call} ${namespace}/${name}`)
    return { claims: Object.fromEntries(claims.map((claim) => [claim.uid, answer(claim)])) }
  }
}

const deviceOf = (driver: string, { name }: Claim) => ({
  requestNames: ["gpu"],
  poolName: "pool",
  deviceName: "gpu-0",
  cdiDeviceIds: [`${driver}/gpu=${name}`],
})

/** Sockets in memory, by their paths below the registration folder. */
export class FakePlugins implements PluginSockets {
  readonly #plugins = new Map<string, FakePlugin>()
  #made = 0
  readonly #sockets = new Map<string, string>()
  readonly #connections = new Map<FakePlugin, Set<(connected: boolean) => void>>()
  readonly #watchers = new Set<() => void>()

  add(path: string, plugin: FakePlugin): void {
    this.#plugins.set(path, plugin)
    this.#sockets.set(path, `${this.#made++}`)
    this.#changed()
  }

  /** Ends the plugin, and removes its socket if `removes` is true. */
  end(path: string, removes = true): void {
    const plugin = this.#plugins.get(path)!
    for (const changed of this.#connections.get(plugin) ?? []) changed(false)
    plugin.endStreams()
    if (!removes) return
    this.#plugins.delete(path)
    this.#sockets.delete(path)
    this.#changed()
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher()
  }

  list = () => Promise.resolve([...this.#sockets].map(([path, made]) => ({ path, made })))

  watch(_folder: string, changed: () => void): () => void {
    this.#watchers.add(changed)
    return () => this.#watchers.delete(changed)
  }

  answers = () => Promise.resolve(false)
  serve = () => Promise.resolve({ close: () => Promise.resolve() })

  connect(path: string): Channel {
    const plugin = this.#plugins.get(path)
    return {
      call<Req extends Fields, Res extends Fields>(rpc: Rpc<Req, Res>, request: Init<Req>): Promise<Decoded<Res>> {
        const method = rpc.path.slice(rpc.path.lastIndexOf("/") + 1)
        if (plugin === undefined) return Promise.reject(new CriError("Unavailable", method, "no connection"))
        // Encoded and decoded as on a real connection, so that absent fields get their zero values.
        const answer = plugin.answer(method, request) as Init<Res>
        return Promise.resolve(rpc.response.decode(rpc.response.encode(answer)))
      },
      async *stream<Req extends Fields, Res extends Fields>(
        rpc: Rpc<Req, Res>,
        _request: Init<Req>,
        { signal }: StreamOptions = {},
      ) {
        if (plugin === undefined) throw new CriError("Unavailable", "NodeWatchResources", "no connection")
        for await (const answer of plugin.stream(signal))
          yield rpc.response.decode(rpc.response.encode(answer as Init<Res>))
      },
      followConnection: (changed) => {
        if (plugin === undefined) return changed(false)
        this.#connections.set(plugin, (this.#connections.get(plugin) ?? new Set()).add(changed))
        changed(true)
      },
      close() {},
    }
  }
}
