import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../../pkg/apimachinery/resource.ts"
import { familiar } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import { at, callerOf, TestClusterError } from "../caller.ts"
import { milliseconds, signedMilliseconds, type Duration } from "../time/duration.ts"
import type { Driver } from "../time/driver.ts"
import { checkMatch, checkRule } from "./known-requests.ts"
import { HeldPart, type ComponentName, type Restartable } from "./held-part.ts"
import { driverNamed } from "../storage/csi-drivers.ts"
import { StorageFaults, type Fault } from "./storage-faults.ts"
import type { SimulatedDriver } from "../../../kubelet/runtime/simulated/csi/simulated-driver.ts"
import type { ClusterNetwork } from "../network/cluster-network.ts"
import type { SimulatedNode } from "../nodes/node.ts"
import { noSuchNode, noSuchServer } from "./no-such.ts"
import type { Servers } from "../servers/servers.ts"
import type { RequestMatch, RequestRule, RequestRules } from "./request-rules.ts"
import type { Moment } from "../report/moment.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"

export interface FaultsContext {
  readonly clock: Clock
  readonly nodes: ReadonlyMap<string, SimulatedNode>
  readonly csiDrivers: ReadonlyMap<string, SimulatedDriver>
  readonly network: Pick<ClusterNetwork, "delay">
  readonly rules: RequestRules
  readonly driver: Driver
  readonly components: Readonly<Record<ComponentName, Restartable>>
  readonly signal: AbortSignal
  forgetHistory(): void
  /** The servers, if there are several. */
  readonly servers: Servers | undefined
  /** Returns the kinds that are served now. */
  kinds(): readonly Resource[]
  /** @throws TestClusterError when the cluster has ended */
  alive(): void
}

/**
 * Makes parts of a cluster fail. Each method returns the fault, which can be ended. Faults may overlap, also on the
 * same part, and end in any order: the end of one resolves when the part that it stopped runs again, or at once where
 * another fault is present, which may keep the part from starting. During a fault, heartbeats and their timeouts run at
 * their exact times (otherwise the clock skips them when nothing else is due).
 */
export class Faults extends StorageFaults {
  readonly #context: FaultsContext
  readonly #components: Readonly<Record<ComponentName, HeldPart>>
  /** The present faults, with their descriptions. */
  readonly #active = new Set<{ readonly words: string }>()
  /** What began and ended, in its order. */
  readonly #moments: Moment[] = []

  /** @internal */
  constructor(context: FaultsContext) {
    super()
    this.#context = context
    const { apiserver, scheduler, "controller-manager": manager } = context.components
    this.#components = {
      apiserver: new HeldPart(apiserver),
      scheduler: new HeldPart(scheduler),
      "controller-manager": new HeldPart(manager),
    }
  }

  /** Returns a line for each present fault. */
  inWords(): readonly string[] {
    return [...this.#active].map(({ words }) => words)
  }

  /** @internal Returns which faults began and ended, and when. */
  moments(): readonly Moment[] {
    return this.#moments
  }

  /**
   * The machine is off, and all that ran on it has ended. At the end of the fault it boots, and its pods are started
   * again.
   */
  async nodeLost(name: string): Promise<Fault> {
    const node = this.#node(name)
    const { network, servers } = this.#context
    let informed: (() => void) | undefined
    let reconnect: (() => void) | undefined
    return this.begin(
      `node ${name} is lost`,
      () => {
        informed = network.delay(name, Infinity)
        // What the test runs on this machine stays in memory, and reaches nothing.
        reconnect = servers?.links.isolate(name)
        return node.powerOff()
      },
      () => {
        informed?.()
        reconnect?.()
        return node.powerOn()
      },
      // The machine has no probes, and those of others ask their own pods.
      { skipsProbes: true },
    )
  }

  /** Node and API server cannot reach each other; the pods keep running. */
  async nodePartitioned(name: string): Promise<Fault> {
    const node = this.#node(name)
    const { servers, network } = this.#context
    let heal: (() => void) | undefined
    let informed: (() => void) | undefined
    return this.begin(
      `node ${name} is partitioned`,
      () => {
        informed = network.delay(name, Infinity)
        heal = servers?.links.isolate(name) ?? this.#withoutApi(name)
        node.cutOff()
      },
      () => {
        heal?.()
        informed?.()
        node.rejoin()
      },
    )
  }

  /** Makes all requests of a node fail, and ends its watches. */
  #withoutApi(node: string): () => void {
    const { rules } = this.#context
    const user = `system:node:${node}`
    const error = new ApiError(
      "ServiceUnavailable",
      `dial tcp: no route to host: node ${JSON.stringify(node)} is partitioned`,
    )
    const heal = rules.add({ user, error })
    rules.dropWatches({ user })
    return heal
  }

  /**
   * The machine of a server is off, with its member of the log. At the end of the fault it boots with its old disk.
   */
  async serverLost(name: string): Promise<Fault> {
    const { power, names } = this.#servers(name)
    const part = power.get(name)
    if (part === undefined) throw at(callerOf(), noSuchServer(name, names))
    return this.begin(
      `server ${name} is lost`,
      () => part.hold(),
      () => part.release(),
    )
  }

  /**
   * Machines (servers and nodes) of different groups cannot reach each other. Machines of no group, and the test
   * itself, reach all: `partitioned(["server-0", "node-0"], ["server-1", "server-2"])`.
   */
  async partitioned(...groups: readonly (readonly string[])[]): Promise<Fault> {
    const { links } = this.#servers(...groups.flat())
    const pairs = groups.flatMap((group, i) =>
      groups.slice(i + 1).flatMap((other) => group.flatMap((a) => other.map((b) => [a, b] as const))),
    )
    let ends: readonly (() => void)[] = []
    return this.begin(
      `the network is parted: ${groups.map((group) => group.join(", ")).join(" | ")}`,
      () => (ends = pairs.map(([a, b]) => links.cut(a, b))),
      () => ends.forEach((end) => end()),
    )
  }

  /** What is sent between two machines takes this long; 1 ms unless a fault says otherwise. */
  async latency(a: string, b: string, by: Duration): Promise<Fault> {
    const { links } = this.#servers(a, b)
    const ms = milliseconds(by)
    let end: (() => void) | undefined
    return this.begin(
      `messages between ${a} and ${b} take ${ms} ms`,
      () => (end = links.delay(a, b, ms)),
      () => end?.(),
    )
  }

  /** This part of all messages between machines is lost, such as 0.1. */
  async messagesLost(rate: number): Promise<Fault> {
    const { links } = this.#servers()
    if (!(rate > 0 && rate < 1))
      throw at(
        callerOf(),
        new TestClusterError(`Cannot lose ${rate} of the messages: expected a number between 0 and 1`),
      )
    let end: (() => void) | undefined
    return this.begin(
      `${rate} of the messages are lost`,
      () => (end = links.lose(rate)),
      () => end?.(),
    )
  }

  /** The wall clock of a machine is ahead of that of the others, or behind for a negative duration. */
  async clockSkewed(machine: string, by: Duration): Promise<Fault> {
    const clock = this.#servers(machine).clockOf(machine)
    const ms = signedMilliseconds(by)
    return this.begin(
      `the clock of ${machine} is ahead by ${ms} ms`,
      () => void (clock.aheadMs += ms),
      () => void (clock.aheadMs -= ms),
    )
  }

  /**
   * kube-proxy, DNS and the ingress proxy of a node, or of all nodes, hear of changes of Services and their endpoints
   * this much later, `endpointsLag("node-1", "3s")` or `endpointsLag("3s")`. Connections go to pods that have ended,
   * and new pods get none. What changed before the fault is not delayed; at its end the nodes know all.
   */
  endpointsLag(by: Duration): Promise<Fault>
  endpointsLag(node: string, by: Duration): Promise<Fault>
  async endpointsLag(first: Duration, second?: Duration): Promise<Fault> {
    const { network, alive } = this.#context
    alive()
    const node = second === undefined ? undefined : this.#node(String(first)).name
    const ms = milliseconds(second ?? first)
    let end: (() => void) | undefined
    return this.begin(
      `${node === undefined ? "all nodes hear" : `node ${node} hears`} of endpoints ${ms} ms late`,
      () => (end = network.delay(node, ms)),
      () => end?.(),
    )
  }

  /** Every call of the node's runtime takes `factor` times as long, and at least `factor` milliseconds. */
  async nodeSlow(name: string, factor: number): Promise<Fault> {
    const { faults } = this.#node(name).runtime
    if (!(factor >= 1))
      throw at(callerOf(), new TestClusterError(`Cannot slow a node down by ${factor}: expected a number of 1 or more`))
    let end: (() => void) | undefined
    return this.begin(
      `node ${name} is ${factor} times as slow`,
      () => (end = faults.slowDown(factor)),
      () => end?.(),
    )
  }

  /** The node has no memory left: it gets the condition MemoryPressure. */
  async nodeOutOfMemory(name: string): Promise<Fault> {
    return this.#shortage(this.#node(name), "memory")
  }

  /** The node has no disk space left: it gets the condition DiskPressure. */
  async nodeOutOfDisk(name: string): Promise<Fault> {
    return this.#shortage(this.#node(name), "disk")
  }

  /** Pulls of an image fail, on one node or on all; `*` at its end matches all images that begin so. */
  async imagePull(
    image: string,
    { node, message }: { readonly node?: string; readonly message?: string } = {},
  ): Promise<Fault> {
    const nodes = node === undefined ? [...this.#context.nodes.values()] : [this.#node(node)]
    this.#context.alive()
    const wanted = familiar(image.replace(/\*$/, ""))
    const matching = (ref: string) =>
      image.endsWith("*")
        ? familiar(ref).startsWith(wanted)
        : familiar(ref) === wanted || familiar(ref).replace(/:[^/:]*$/, "") === wanted
    const why = message ?? `failed to resolve reference ${JSON.stringify(image)}: not found`
    let ends: readonly (() => void)[] = []
    return this.begin(
      `pulls of ${image} fail`,
      () => (ends = nodes.map(({ runtime }) => runtime.faults.failPulls(matching, why))),
      () => ends.forEach((end) => end()),
    )
  }

  /** Compacts all history: a client that continues an earlier watch or list gets Expired, and must list again. */
  forgetHistory(): void {
    this.#context.alive()
    this.#note("the history is compacted")
    this.#context.forgetHistory()
  }

  /**
   * Moves the wall clock of all machines forward, or back for a negative duration. Delays that have begun take as long
   * as before.
   */
  async clockJump(by: Duration): Promise<void> {
    this.#context.alive()
    const ms = signedMilliseconds(by)
    this.#note(`all clocks jump by ${ms} ms`)
    await this.#context.driver.move(async (clock) => {
      clock.jump(ms)
      await clock.settle()
    })
  }

  /**
   * Delays matching requests, or makes them fail, from inside and outside of the cluster alike. @throws
   * TestClusterError for an unknown verb, kind or reason
   */
  async requests(rule: RequestRule): Promise<Fault> {
    this.#context.alive()
    checkRule(rule, this.#context.kinds())
    const remove = this.#context.rules.add(rule)
    return this.begin(`a rule holds: ${JSON.stringify(rule)}`, () => {}, remove)
  }

  /**
   * Ends the matching open watches, like a lost connection. Returns how many. @throws TestClusterError for an unknown
   * verb or kind
   */
  dropWatches(match: RequestMatch = {}): number {
    this.#context.alive()
    checkMatch(match, this.#context.kinds())
    this.#note(`watches are lost: ${JSON.stringify(match)}`)
    return this.#context.rules.dropWatches(match)
  }

  /** Stops a component at once; at the end of the fault it is started again. What it had only in memory is lost. */
  async crashed(component: ComponentName | { readonly kubelet: string }): Promise<Fault> {
    this.#context.alive()
    const isKubelet = typeof component !== "string"
    const part = isKubelet ? this.#node(component.kubelet).kubelet : this.#components[component]
    const words = isKubelet ? `the kubelet of node ${component.kubelet} is down` : `the ${component} is down`
    return this.begin(
      words,
      () => part.hold(),
      () => part.release(),
    )
  }

  #shortage({ name, runtime: { faults } }: SimulatedNode, of: "memory" | "disk"): Promise<Fault> {
    let end: (() => void) | undefined
    return this.begin(
      `node ${name} is out of ${of}`,
      () => (end = faults.runShort(of)),
      () => end?.(),
    )
  }

  /** Returns the servers. @throws TestClusterError when there are not several, or a machine is unknown */
  #servers(...machines: readonly string[]): Servers {
    this.#context.alive()
    const { servers, nodes } = this.#context
    const unknown = machines.find((name) => !nodes.has(name) && servers?.names.includes(name) !== true)
    if (servers === undefined || unknown !== undefined)
      throw at(callerOf(), noSuchServer(unknown ?? machines[0] ?? "server-0", servers?.names ?? []))
    return servers
  }

  #node(name: string): SimulatedNode {
    this.#context.alive()
    const node = this.#context.nodes.get(name)
    if (node === undefined) throw at(callerOf(), noSuchNode(name, this.#context.nodes))
    return node
  }

  /** @internal */
  protected driver(name: string, node: string | undefined): SimulatedDriver {
    this.#context.alive()
    if (node !== undefined) this.#node(node)
    try {
      return driverNamed(name, this.#context.csiDrivers)
    } catch (err) {
      throw at(callerOf(), err)
    }
  }

  #note(what: string, isTrouble = true): void {
    this.#moments.push({ time: this.#context.clock.now(), isTrouble, isOfTest: true, who: "fault", what })
  }

  /** @internal */
  protected async begin(
    words: string,
    begin: () => unknown,
    end: () => unknown,
    exact?: { readonly skipsProbes: boolean },
  ): Promise<Fault> {
    const { driver, signal } = this.#context
    const active = { words }
    this.#active.add(active)
    this.#note(words)
    const skipAgain = driver.beExact(exact)
    let ended: Promise<void> | undefined
    const finish = async (): Promise<void> => {
      // A fault that ends with the cluster does not start its component again.
      if (signal.aborted) return
      this.#note(`over: ${words}`, false)
      const done = Promise.resolve(end())
      // Another fault may keep the part from starting: a node that boots waits for the API server while it is
      // partitioned.
      done.catch(() => undefined)
      await (this.#active.size === 1 ? done : Promise.race([done, driver.move((clock) => clock.settle())]))
    }
    const once = () =>
      (ended ??= driver
        .ended(() => `the end of a fault waits, of which was said: ${words}`, finish())
        .finally(() => {
          this.#active.delete(active)
          skipAgain()
        }))
    await driver.ended(() => `a fault waits for its beginning: ${words}`, Promise.resolve(begin()))
    return { end: once, [Symbol.asyncDispose]: once }
  }
}
