import type { Transport } from "../../../../pkg/client/client.ts"
import { sleep, type Clock } from "../../../../pkg/clock/clock.ts"
import { ReplicatedStorage } from "../../../../pkg/storage/replicated/replicated.ts"
import { StorageError, type Storage, type StorageEvent } from "../../../../pkg/storage/storage.ts"
import { parseStored } from "../../../apiserver/store/parse-stored.ts"
import type { Actor } from "../../../apiserver/call/request.ts"
import type { Assembly } from "../assembly.ts"
import type { Consensus } from "../consensus/consensus.ts"
import type { Links } from "./links.ts"

/** The pause before a server is started again that could not start. Source: RestartSec of k3s's systemd unit, shortened. */
const RESTART_MS = 1000

/** A component that a fault can stop while its API server runs. */
type Beside = "scheduler" | "controller-manager"

export interface SimulatedServerOptions {
  /** The name of the machine. */
  readonly name: string
  readonly clock: Clock
  readonly links: Links
  readonly consensus: Consensus
  readonly frozen: boolean
  /** Aborts when the cluster ends. */
  readonly signal: AbortSignal
  /** Makes the programs of the server, which have no memory of before. */
  readonly assembly: (name: string, storage: Storage) => Assembly
  /** Is told what the server has seen in the log. */
  readonly seen: (events: readonly StorageEvent[]) => void
}

/** A machine in memory that runs a server and a member of the log. */
export class SimulatedServer {
  readonly name: string
  readonly #options: SimulatedServerOptions
  #assembly: Assembly | undefined
  #storage: Storage | undefined
  /** What the programs before the last crash have left. */
  readonly #past: Assembly[] = []
  /** Answers that were given while the log could not be reached. */
  readonly #old = new WeakSet<object>()
  #running = false
  /** The components that run, or would if the API server did. */
  readonly #beside = new Set<Beside>()
  #starting: Promise<void> | undefined
  #stopping: AbortController | undefined
  #turnOn: (() => void) | undefined

  constructor(options: SimulatedServerOptions) {
    this.name = options.name
    this.#options = options
  }

  /** Whether its API server runs. */
  get running(): boolean {
    return this.#running
  }
  /** The programs of the server; undefined before its first start. */
  get assembly(): Assembly | undefined {
    return this.#assembly
  }
  /** Its store while it runs. */
  get storage(): Storage | undefined {
    return this.#storage
  }
  get openWatches(): readonly string[] {
    return this.#assemblies.flatMap(({ openWatches }) => openWatches.map((watch) => `${this.name}: ${watch}`))
  }
  get failures(): readonly unknown[] {
    return this.#assemblies.flatMap(({ failures }) => failures)
  }

  /** Returns the way into the server for a user; undefined while it does not run. */
  transportFor(user: Actor): Transport | undefined {
    const transport = this.#running ? this.#assembly?.apiServer.transportFor(user) : undefined
    if (transport === undefined) return undefined
    return {
      watch: (resource, options, handlers) => transport.watch(resource, options, handlers),
      call: (call, signal) =>
        transport.call(call, signal).then(
          (answer) => this.#noted(answer),
          (err: unknown) => {
            throw this.#noted(err)
          },
        ),
    }
  }

  /** Notes an answer that was given while the log could not be reached. */
  #noted<T>(answer: T): T {
    if (this.#storage?.problem !== undefined && typeof answer === "object" && answer !== null) this.#old.add(answer)
    return answer
  }

  /** Whether this answer is from memory that may have been old. */
  mayBeOld(answer: object): boolean {
    return this.#old.has(answer)
  }

  /**
   * Starts the API server, and anew the components beside it: those from before know only the one before.
   * @throws Error when it is stopped meanwhile
   */
  async startApi(): Promise<void> {
    const stopping = new AbortController()
    this.#stopping = stopping
    await (this.#starting = this.#start(AbortSignal.any([this.#options.signal, stopping.signal])))
    const assembly = this.#assembly
    for (const component of [...this.#beside]) {
      for (const { components } of this.#past) await components[component].crash()
      // Another fault may have stopped it, or the API server, in the meantime.
      if (this.#beside.has(component) && this.#assembly === assembly) await assembly?.components[component].start()
    }
  }

  async #start(signal: AbortSignal): Promise<void> {
    const { name, assembly, seen } = this.#options
    const storage = await this.#openStorage(signal)
    this.#storage = storage
    storage.subscribe(seen)
    if (this.#assembly !== undefined) this.#past.push(this.#assembly)
    this.#assembly = assembly(name, storage)
    await this.#assembly.components.apiserver.start()
    signal.throwIfAborted()
    this.#running = true
  }

  async stopApi(): Promise<void> {
    this.#running = false
    this.#stopping?.abort(new Error(`${this.name} is being stopped`))
    // A start in progress goes on until it finds that nobody wants it.
    await this.#starting?.catch(() => undefined)
    await this.#assembly?.components.apiserver.crash()
    this.#storage?.close()
    this.#storage = undefined
  }

  /** Turns the machine off. What was sent to it or by it is lost. */
  async powerOff(): Promise<void> {
    const { name, links, consensus } = this.#options
    // It may be off already: another fault begins before the machine has booted.
    this.#turnOn ??= links.isolate(name)
    consensus.crash(name)
    this.#running = false
    await this.crash("scheduler")
    await this.crash("controller-manager")
    await this.stopApi()
  }

  async start(component: Beside): Promise<void> {
    this.#beside.add(component)
    await this.#assembly?.components[component].start()
  }

  /** Stops a component at once, also one that an API server's restart has left behind. */
  async crash(component: Beside): Promise<void> {
    this.#beside.delete(component)
    for (const { components } of this.#assemblies) await components[component].crash()
  }

  /** Turns the machine on, and starts its programs. */
  async powerOn(): Promise<void> {
    const { name, consensus } = this.#options
    this.#turnOn?.()
    this.#turnOn = undefined
    consensus.restart(name)
    await this.startApi()
    await this.start("controller-manager")
    await this.start("scheduler")
  }

  /** Opens the store as soon as the log can be read: the machine's supervisor starts a server again that could not. */
  async #openStorage(signal: AbortSignal): Promise<Storage> {
    const { name, clock, consensus, frozen } = this.#options
    for (;;) {
      signal.throwIfAborted()
      try {
        return await ReplicatedStorage.open({ log: consensus.logOf(name), clock, frozen, parse: parseStored })
      } catch (err) {
        if (!(err instanceof StorageError && err.code === "unavailable")) throw err
        await sleep(clock, RESTART_MS, signal)
      }
    }
  }

  get #assemblies(): readonly Assembly[] {
    return this.#assembly === undefined ? this.#past : [...this.#past, this.#assembly]
  }
}
