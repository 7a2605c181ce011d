import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../../pkg/apimachinery/resource.ts"
import { familiar } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import { at, callerOf, TestClusterError } from "../caller.ts"
import { milliseconds, type Duration } from "../time/duration.ts"
import type { Driver } from "../time/driver.ts"
import { checkMatch, checkRule } from "./known-requests.ts"
import { HeldPart, type Restartable } from "./held-part.ts"
import type { SimulatedNode } from "../nodes/node.ts"
import type { RequestMatch, RequestRule, RequestRules } from "./request-rules.ts"

/** A fault that lasts until `end` is called, or the block of its `await using` is left. */
export interface Fault extends AsyncDisposable {
  end(): Promise<void>
}

export type ComponentName = "apiserver" | "scheduler" | "controller-manager"

export interface FaultsContext {
  readonly nodes: ReadonlyMap<string, SimulatedNode>
  readonly rules: RequestRules
  readonly driver: Driver
  readonly components: Readonly<Record<ComponentName, Restartable>>
  readonly signal: AbortSignal
  forgetHistory(): void
  /** Returns the kinds that are served now. */
  kinds(): readonly Resource[]
  /** @throws TestClusterError when the cluster has ended */
  alive(): void
}

export const noSuchNode = (name: string, nodes: ReadonlyMap<string, SimulatedNode>): TestClusterError =>
  new TestClusterError(
    `There is no node ${JSON.stringify(name)}: the simulated nodes are ${[...nodes.keys()].join(", ") || "none"}`,
  )

/**
 * Makes parts of a cluster fail. Each method returns the fault, which can be ended. Faults may overlap, also on the
 * same part. During a fault, heartbeats and their timeouts run at their exact times (otherwise the clock skips them
 * when nothing else is due).
 */
export class Faults {
  readonly #context: FaultsContext
  readonly #components: Readonly<Record<ComponentName, HeldPart>>
  /** The present faults, with their descriptions. */
  readonly #active = new Set<{ readonly words: string }>()

  /** @internal */
  constructor(context: FaultsContext) {
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

  /**
   * The machine is off, and all that ran on it has ended. At the end of the fault it boots, and its pods are started
   * again.
   */
  async nodeLost(name: string): Promise<Fault> {
    const node = this.#node(name)
    return this.#begin(
      `node ${name} is lost`,
      () => node.powerOff(),
      () => node.powerOn(),
    )
  }

  /** Node and API server cannot reach each other; the pods keep running. */
  async nodePartitioned(name: string): Promise<Fault> {
    const node = this.#node(name)
    const user = `system:node:${name}`
    const error = new ApiError(
      "ServiceUnavailable",
      `dial tcp: no route to host: node ${JSON.stringify(name)} is partitioned`,
    )
    let heal: (() => void) | undefined
    return this.#begin(
      `node ${name} is partitioned`,
      () => {
        heal = this.#context.rules.add({ user, error })
        node.cutOff()
        this.#context.rules.dropWatches({ user })
      },
      () => {
        heal?.()
        node.rejoin()
      },
    )
  }

  /** Every call of the node's runtime takes `factor` times as long, and at least `factor` milliseconds. */
  async nodeSlow(name: string, factor: number): Promise<Fault> {
    const { faults } = this.#node(name).runtime
    if (!(factor >= 1))
      throw at(callerOf(), new TestClusterError(`Cannot slow a node down by ${factor}: expected a number of 1 or more`))
    let end: (() => void) | undefined
    return this.#begin(
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
    return this.#begin(
      `pulls of ${image} fail`,
      () => (ends = nodes.map(({ runtime }) => runtime.faults.failPulls(matching, why))),
      () => ends.forEach((end) => end()),
    )
  }

  /** Compacts all history: a client that continues an earlier watch or list gets Expired, and must list again. */
  forgetHistory(): void {
    this.#context.alive()
    this.#context.forgetHistory()
  }

  /**
   * Moves the wall clock of all machines forward, or back for a negative duration. Delays that have begun take as long
   * as before.
   */
  async clockJump(by: Duration): Promise<void> {
    this.#context.alive()
    const ms = typeof by === "number" ? Math.sign(by) * milliseconds(Math.abs(by)) : milliseconds(by)
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
    return this.#begin(`a rule holds: ${JSON.stringify(rule)}`, () => {}, remove)
  }

  /**
   * Ends the matching open watches, like a lost connection. Returns how many. @throws TestClusterError for an unknown
   * verb or kind
   */
  dropWatches(match: RequestMatch = {}): number {
    this.#context.alive()
    checkMatch(match, this.#context.kinds())
    return this.#context.rules.dropWatches(match)
  }

  /** Stops a component at once; at the end of the fault it is started again. What it had only in memory is lost. */
  async crashed(component: ComponentName | { readonly kubelet: string }): Promise<Fault> {
    this.#context.alive()
    const isKubelet = typeof component !== "string"
    const part = isKubelet ? this.#node(component.kubelet).kubelet : this.#components[component]
    const words = isKubelet ? `the kubelet of node ${component.kubelet} is down` : `the ${component} is down`
    return this.#begin(
      words,
      () => part.hold(),
      () => part.release(),
    )
  }

  #shortage({ name, runtime: { faults } }: SimulatedNode, of: "memory" | "disk"): Promise<Fault> {
    let end: (() => void) | undefined
    return this.#begin(
      `node ${name} is out of ${of}`,
      () => (end = faults.runShort(of)),
      () => end?.(),
    )
  }

  #node(name: string): SimulatedNode {
    this.#context.alive()
    const node = this.#context.nodes.get(name)
    if (node === undefined) throw at(callerOf(), noSuchNode(name, this.#context.nodes))
    return node
  }

  async #begin(words: string, begin: () => unknown, end: () => unknown): Promise<Fault> {
    const { driver, signal } = this.#context
    const active = { words }
    this.#active.add(active)
    const skipAgain = driver.beExact()
    let ended: Promise<void> | undefined
    const finish = async () => {
      // A fault that ends with the cluster does not start its component again.
      if (signal.aborted) return
      await end()
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
