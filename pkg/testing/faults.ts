import { ApiError } from "../apimachinery/errors.ts"
import type { VirtualClock } from "../clock/virtual.ts"
import { familiar } from "../../components/kubelet/runtime/simulated/behaviour.ts"
import { at, callerOf, TestClusterError } from "./caller.ts"
import type { SimulatedNode } from "./node.ts"
import type { RequestMatch, RequestRule, RequestRules } from "./request-rules.ts"

/** Something that is wrong until `end` is called, or the block of an `await using` is left. */
export interface Fault extends AsyncDisposable {
  end(): Promise<void>
}

export type ComponentName = "apiserver" | "scheduler" | "controller-manager"

/** A part that can be taken away at once and started anew. */
export interface Restartable {
  crash(): Promise<void>
  start(): Promise<void>
}

export interface FaultsContext {
  readonly nodes: ReadonlyMap<string, SimulatedNode>
  readonly rules: RequestRules
  /** None with the system's time. */
  readonly clock: VirtualClock | undefined
  readonly components: Readonly<Record<ComponentName, Restartable>>
  readonly signal: AbortSignal
  forgetHistory(): void
  /** @throws TestClusterError when the cluster has ended */
  alive(): void
}

export const noSuchNode = (name: string, nodes: ReadonlyMap<string, SimulatedNode>): TestClusterError =>
  new TestClusterError(
    `There is no node ${JSON.stringify(name)}: the simulated nodes are ${[...nodes.keys()].join(", ") || "none"}`,
  )

/**
 * What can go wrong in a cluster. Each method returns what ends the fault. While any is there, heartbeats and all that watches for them run at their very
 * instants (otherwise the clock skips over them where nothing else is due).
 */
export class Faults {
  readonly #context: FaultsContext
  #active = 0

  constructor(context: FaultsContext) {
    this.#context = context
  }

  /** The machine is off, with all that ran on it. At the end it boots: its pods are started again. */
  async nodeLost(name: string): Promise<Fault> {
    const node = this.#node(name, this.nodeLost)
    const fault = this.#begin(() => node.powerOn(this.#context.signal))
    await node.powerOff()
    return fault
  }

  /** Node and API server cannot reach each other; the pods run on. */
  async nodePartitioned(name: string): Promise<Fault> {
    const node = this.#node(name, this.nodePartitioned)
    const user = `system:node:${name}`
    const unreachable = new ApiError(
      "ServiceUnavailable",
      `dial tcp: no route to host: node ${JSON.stringify(name)} is partitioned`,
    )
    const heal = this.#context.rules.add({ user, error: unreachable })
    const fault = this.#begin(() => {
      heal()
      node.rejoin()
    })
    node.cutOff()
    this.#context.rules.dropWatches({ user })
    return fault
  }

  /** What the node's runtime does takes `factor` times as long, and at least `factor` milliseconds. */
  async nodeSlow(name: string, factor: number): Promise<Fault> {
    const { runtime } = this.#node(name, this.nodeSlow)
    if (!(factor >= 1))
      throw at(
        callerOf(this.nodeSlow),
        new TestClusterError(`Cannot slow a node down by ${factor}: expected a number of 1 or more`),
      )
    runtime.faults.slowness = factor
    return this.#begin(() => {
      runtime.faults.slowness = 1
    })
  }

  /** No memory is left: the node comes under pressure. */
  async nodeOutOfMemory(name: string): Promise<Fault> {
    return this.#shortage(this.#node(name, this.nodeOutOfMemory), "memory")
  }

  /** No disk is left. */
  async nodeOutOfDisk(name: string): Promise<Fault> {
    return this.#shortage(this.#node(name, this.nodeOutOfDisk), "disk")
  }

  /** Pulls of an image (`*` at its end for all that begin so) fail, on one node or on all. */
  async imagePull(
    image: string,
    { node, message }: { readonly node?: string; readonly message?: string } = {},
  ): Promise<Fault> {
    const nodes = node === undefined ? [...this.#context.nodes.values()] : [this.#node(node, this.imagePull)]
    this.#context.alive()
    const wanted = familiar(image.replace(/\*$/, ""))
    const matching = (ref: string) =>
      image.endsWith("*")
        ? familiar(ref).startsWith(wanted)
        : familiar(ref) === wanted || familiar(ref).replace(/:[^/:]*$/, "") === wanted
    const ends = nodes.map(({ runtime }) =>
      runtime.faults.failPulls(matching, message ?? `failed to resolve reference ${JSON.stringify(image)}: not found`),
    )
    return this.#begin(() => ends.forEach((end) => end()))
  }

  /** All history is forgotten, as by a compaction: whoever goes on with a watch or a list from before is told that it has expired, and must begin anew. */
  forgetHistory(): void {
    this.#context.alive()
    this.#context.forgetHistory()
  }

  /** Requests that match are delayed or fail, from inside and outside alike. */
  async requests(rule: RequestRule): Promise<Fault> {
    this.#context.alive()
    return this.#begin(this.#context.rules.add(rule))
  }

  /** Ends the open watches that match, as a lost connection does. Returns how many there were. */
  dropWatches(match: RequestMatch = {}): number {
    this.#context.alive()
    return this.#context.rules.dropWatches(match)
  }

  /** A component is gone at once; at the end it is started anew. What it had only in its memory is lost. */
  async crashed(component: ComponentName | { readonly kubelet: string }): Promise<Fault> {
    const part = typeof component === "string" ? this.#component(component) : this.#kubelet(component.kubelet)
    const fault = this.#begin(() => part.start())
    await part.crash()
    return fault
  }

  #component(name: ComponentName): Restartable {
    this.#context.alive()
    return this.#context.components[name]
  }

  #kubelet(name: string): Restartable {
    const node = this.#node(name, this.crashed)
    return { crash: () => node.stop(), start: () => node.start(this.#context.signal) }
  }

  #shortage({ runtime }: SimulatedNode, of: "memory" | "disk"): Fault {
    runtime.faults.shortage[of] = true
    return this.#begin(() => {
      runtime.faults.shortage[of] = false
    })
  }

  #node(name: string, method: (...args: never[]) => unknown): SimulatedNode {
    this.#context.alive()
    const node = this.#context.nodes.get(name)
    if (node === undefined) throw at(callerOf(method), noSuchNode(name, this.#context.nodes))
    return node
  }

  #begin(end: () => unknown): Fault {
    const { clock } = this.#context
    this.#active++
    if (clock !== undefined) clock.exact = true
    let ended: Promise<void> | undefined
    const once = () =>
      (ended ??= (async () => {
        await end()
        if (--this.#active === 0 && clock !== undefined) clock.exact = false
      })())
    return { end: once, [Symbol.asyncDispose]: once }
  }
}
