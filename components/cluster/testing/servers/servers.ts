import type { Client, Transport } from "../../../../pkg/client/client.ts"
import { newClient } from "../../../../pkg/client/new-client.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { seededRandom } from "../../../../pkg/clock/random.ts"
import { NodeConnectors } from "../../../../pkg/component/node-connector.ts"
import type { SharedChange } from "../../../../pkg/storage/replicated/shared-log.ts"
import type { Storage, StorageEvent } from "../../../../pkg/storage/storage.ts"
import type { ApiServer } from "../../../apiserver/apiserver.ts"
import type { Actor } from "../../../apiserver/call/request.ts"
import type { Scheduler } from "../../../scheduler/scheduler.ts"
import { asUser, Clients, type Tools } from "../../clients.ts"
import type { Assembly } from "../assembly.ts"
import { Consensus } from "../consensus/consensus.ts"
import type { ControlPlane } from "../control-plane.ts"
import { OpenWatches } from "../end/end-checks.ts"
import { HeldPart, type ComponentName, type Restartable } from "../faults/held-part.ts"
import type { ClusterAddresses } from "../network/network.ts"
import { keepingApart, type Frozen } from "../own-objects.ts"
import { drivenTransport, type DrivenOptions } from "../time/driven-transport.ts"
import { FailoverTransport, ServerChoice } from "./failover-transport.ts"
import { Links } from "./links.ts"
import { NetworkTransport } from "./network-transport.ts"
import { SimulatedServer } from "./simulated-server.ts"
import { SkewedClock } from "./skewed-clock.ts"

/** The machine of the test itself, which partitions leave alone. */
export const TEST_MACHINE = "test"

export interface ServersOptions {
  readonly count: number
  readonly clock: Clock
  readonly seed: number
  readonly frozen: Frozen
  readonly addresses: ClusterAddresses
  /** Aborts when the cluster ends. */
  readonly signal: AbortSignal
  /** Told of what the servers have agreed on. */
  readonly agreed: (changes: readonly SharedChange[]) => void
  /** Makes the programs of one server. */
  readonly assembly: (server: {
    readonly name: string
    readonly index: number
    readonly storage: Storage
    readonly clock: Clock
    readonly connectors: NodeConnectors
  }) => Assembly
}

/** Several servers over a simulated log, each on a machine of its own, and the network between all machines. */
export class Servers implements ControlPlane {
  readonly overNetwork = true
  readonly addresses: ClusterAddresses
  readonly connectors = new NodeConnectors()
  readonly links: Links
  readonly consensus: Consensus
  readonly servers: readonly SimulatedServer[]
  /** Turns servers off and on, by name. */
  readonly power: ReadonlyMap<string, HeldPart>
  readonly components: Readonly<Record<ComponentName, Restartable>>
  /** Who wrote a revision, as the server knows that has written it. */
  readonly #authors = new Map<number, string>()
  readonly #options: ServersOptions
  readonly #clocks = new Map<string, SkewedClock>()
  readonly #watches = new OpenWatches()
  readonly #ending = new AbortController()
  readonly #choices = new Map<string, ServerChoice>()

  constructor(options: ServersOptions) {
    const { count, clock, seed, frozen, addresses, signal, agreed, assembly } = options
    const names = Array.from({ length: count }, (_, index) => `server-${index}`)
    // A sequence of its own: what the network does must not depend on what the programs draw.
    const random = seededRandom(seed ^ 0x5eed)
    this.#options = options
    this.addresses = addresses
    this.links = new Links(clock, random)
    this.consensus = new Consensus({ clock, random, links: this.links, names, agreed })
    this.servers = names.map(
      (name, index) =>
        new SimulatedServer({
          name,
          clock: this.clockOf(name),
          links: this.links,
          consensus: this.consensus,
          frozen: frozen === "all",
          signal,
          assembly: (name, storage) =>
            assembly({ name, index, storage, clock: this.clockOf(name), connectors: this.connectors }),
          seen: (events) => this.#seen(events),
        }),
    )
    this.power = new Map(
      this.servers.map((server) => [
        server.name,
        new HeldPart({ crash: () => server.powerOff(), start: () => server.powerOn() }),
      ]),
    )
    const each = (work: (server: SimulatedServer) => Promise<void>) => async () => {
      await Promise.all(this.servers.map(work))
    }
    const part = (name: "scheduler" | "controller-manager"): Restartable => ({
      start: each((server) => server.start(name)),
      crash: each((server) => server.crash(name)),
    })
    this.components = {
      apiserver: { start: each((server) => server.startApi()), crash: each((server) => server.stopApi()) },
      scheduler: part("scheduler"),
      "controller-manager": part("controller-manager"),
    }
  }

  get names(): readonly string[] {
    return this.servers.map(({ name }) => name)
  }
  get apiServer(): ApiServer {
    return (this.#some(({ running }) => running) ?? this.#some(() => true))!.apiServer
  }
  get scheduler(): Scheduler | undefined {
    return this.#some(({ assembly }) => assembly?.scheduler !== undefined)?.scheduler
  }
  get openWatches(): readonly string[] {
    return [...this.#watches.left, ...this.servers.flatMap(({ openWatches }) => openWatches)]
  }
  get failures(): readonly unknown[] {
    return this.servers.flatMap(({ failures }) => failures)
  }

  /** Returns the clock of a machine. */
  clockOf(machine: string): SkewedClock {
    let clock = this.#clocks.get(machine)
    if (clock === undefined) this.#clocks.set(machine, (clock = new SkewedClock(this.#options.clock)))
    return clock
  }

  /** Returns who wrote a revision; empty when no server has seen the answer. */
  authorOf(revision: number): string {
    return this.#authors.get(revision) ?? ""
  }

  /** Whether a server has given this answer from its memory, because it could not reach the log. */
  mayBeOld(answer: object): boolean {
    return this.servers.some((server) => server.mayBeOld(answer))
  }

  toolsOn(machine: string): Tools {
    return { ...this.#some(() => true)!.tools, clock: this.clockOf(machine) }
  }

  clientsOn(machine: string): Clients {
    return new Clients(this.toolsOn(machine), (user) => this.#transportFor(machine, user))
  }

  clientFor(name: string, groups: readonly string[] = []): Client {
    return newClient(this.#transportFor(TEST_MACHINE, asUser({ name, groups })))
  }

  givenClientFor(name: string, groups: readonly string[], machine = TEST_MACHINE): Client {
    return newClient(this.#apart(this.#transportFor(machine, asUser({ name, groups }))))
  }

  drivenClientFor(
    name: string,
    groups: readonly string[],
    driving: Omit<DrivenOptions, "user">,
    server?: string,
  ): Client {
    const user = asUser({ name, groups })
    const index = this.names.indexOf(server ?? "")
    const transport = index < 0 ? this.#transportFor(TEST_MACHINE, user) : this.#ways(TEST_MACHINE, user)[index]!
    return newClient(drivenTransport(this.#apart(transport), { ...driving, user: name }))
  }

  forgetHistory(): void {
    for (const { storage } of this.servers) storage?.compact(storage.revision)
  }

  /** Ends the network and the log, after all servers have stopped. */
  close(): void {
    this.#ending.abort(new Error("the cluster is being stopped"))
    this.consensus.close()
    this.links.close()
  }

  #some(wanted: (server: SimulatedServer) => boolean): Assembly | undefined {
    return this.servers.find((server) => server.assembly !== undefined && wanted(server))?.assembly
  }

  #apart(transport: Transport): Transport {
    return keepingApart(transport, { freeze: this.#options.frozen === "given" })
  }

  #transportFor(machine: string, user: Actor): Transport {
    let choice = this.#choices.get(machine)
    if (choice === undefined) {
      // Machines begin with different servers, as behind a load balancer.
      choice = new ServerChoice(this.servers.length, this.#choices.size)
      this.#choices.set(machine, choice)
    }
    const transport = new FailoverTransport(this.#ways(machine, user), choice, this.#options.clock, this.#ending.signal)
    return this.#watches.counted(transport, user.name)
  }

  /** Returns the ways from a machine to each server. */
  #ways(machine: string, user: Actor): readonly NetworkTransport[] {
    return this.servers.map(
      (server) =>
        new NetworkTransport({
          clock: this.#options.clock,
          links: this.links,
          from: machine,
          to: server.name,
          server: () => server.transportFor(user),
        }),
    )
  }

  #seen(events: readonly StorageEvent[]): void {
    for (const { revision, author } of events) if (author !== "") this.#authors.set(revision, author)
  }
}
