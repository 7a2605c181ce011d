import type { Features } from "../../../../pkg/component/features.ts"
import { crashBackoffOf } from "../../../kubelet/model/backoff.ts"
import { DEFAULT_TUNING } from "../../../kubelet/model/tuning.ts"
import type { ImageBehaviours } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { SimulatedContainer } from "../../../kubelet/runtime/simulated/containers/container.ts"
import type { SimulatedDriver } from "../../../kubelet/runtime/simulated/csi/simulated-driver.ts"
import { SimulatedNetwork } from "../../../kubelet/runtime/simulated/machine/network.ts"
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { Client } from "../../../../pkg/client/client.ts"
import type { Informers } from "../../../../pkg/client/informer.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { BareNode } from "./bare-node.ts"
import { TestClusterError } from "../caller.ts"
import type { Driver } from "../time/driver.ts"
import { SimulatedNode, type SimulatedNodeOptions } from "./node.ts"
import { PodsOfNodes } from "./node-informers.ts"
import { followingNode, nodeUser, type Clients } from "../../clients.ts"
import { type NodeOptions, nodeSpec, type NodeSpec } from "../options/node-spec.ts"
import type { ControlPlane } from "../control-plane.ts"
import type { RunningNodes } from "./running-nodes.ts"

/**
 * Nodes that start at once. All thousands at once would be slower by a fifth and take a third more memory: each step of
 * a start would come to each node before the next step, when no cache of the processor knows the node any more, and
 * what a start throws away would live until the end of all starts.
 */
const AT_ONCE = 20

export interface NodesOptions {
  readonly assembly: ControlPlane
  readonly clock: Clock
  readonly driver: Driver
  readonly images: ImageBehaviours
  readonly csiDrivers: readonly SimulatedDriver[]
  /** Whether kubelets run. */
  readonly kubelets: boolean
  /** The administrator's client, which watches all nodes. */
  readonly client: Client
  readonly signal: AbortSignal
  readonly features: Features
  /** What runs on the first nodes before their kubelets start. */
  readonly running: RunningNodes | undefined
}

/** The nodes of a cluster, and their network. */
export class Nodes {
  readonly network: SimulatedNetwork
  /** The nodes with a kubelet, by name. */
  readonly simulated = new Map<string, SimulatedNode>()
  readonly #bare = new Map<string, BareNode>()
  readonly #options: NodesOptions
  readonly #informers: Informers[] = []
  #shared: { readonly informers: Informers; readonly pods: PodsOfNodes } | undefined

  constructor(options: NodesOptions) {
    this.#options = options
    this.network = new SimulatedNetwork(options.clock)
  }

  get names(): readonly string[] {
    return [...this.simulated.keys(), ...this.#bare.keys()]
  }
  /**
   * The number of nodes. The clock reads it at every request, and building a list of names for it took 8 % of the time
   * with 1,000 nodes.
   */
  get count(): number {
    return this.simulated.size + this.#bare.size
  }

  /**
   * Returns the next node's settings with defaults. @throws TestClusterError for invalid settings, or a name that
   * exists
   */
  specOf(options: NodeOptions): NodeSpec {
    const spec = nodeSpec(options, this.count)
    if (this.simulated.has(spec.name) || this.#bare.has(spec.name))
      throw new TestClusterError(`Cannot add a second node named ${JSON.stringify(spec.name)}`)
    return spec
  }

  /** Adds a node. Returns a function that starts it. */
  add(spec: NodeSpec): () => Promise<void> {
    const { assembly, clock, images, csiDrivers, kubelets, client, signal, features, running } = this.#options
    if (!kubelets) {
      const bare = new BareNode({ spec, client, clock })
      this.#bare.set(spec.name, bare)
      return () => bare.start()
    }
    const before = running?.on(spec.name)
    const clients = assembly.clientsOn(spec.name)
    const nodeClient = clients.clientFor(nodeUser(spec.name))
    const node = new SimulatedNode({
      spec: {
        ...spec,
        tuning: {
          ...DEFAULT_TUNING,
          crashes: crashBackoffOf(features),
          ...(before === undefined ? {} : { reserved: before.reserved }),
        },
        adoptsVolumesLate: before !== undefined,
      },
      index: this.simulated.size,
      addresses: assembly.addresses,
      ...this.#informersOf(spec.name, clients, nodeClient),
      behaviours: images,
      csiDrivers,
      network: this.network,
      connectors: assembly.connectors,
      signal,
      context: { ...assembly.toolsOn(spec.name), client: nodeClient },
    })
    this.simulated.set(spec.name, node)
    if (before !== undefined) node.takeOver(before, running!.behaviourOf)
    return before?.isLost === true ? () => node.powerOff() : () => node.start()
  }

  /** Adds and starts the first nodes of the cluster. */
  async start(specs: readonly NodeSpec[]): Promise<void> {
    // Where requests take time, so would each group.
    const atOnce = this.#options.assembly.overNetwork ? specs.length : AT_ONCE
    for (let first = 0; first < specs.length; first += atOnce)
      await Promise.all(specs.slice(first, first + atOnce).map((spec) => this.add(spec)()))
  }

  /** Returns a running container of a simulated pod; the first one by default. */
  containerOf({ metadata, spec }: Pod, name = spec.containers[0]?.name): SimulatedContainer | undefined {
    const node = this.simulated.get(spec.nodeName ?? "")
    return name === undefined ? undefined : node?.runtime.containers.find(metadata.uid ?? "", name)
  }

  /** Stops all kubelets, and ends all their containers. */
  async stop(): Promise<void> {
    for (const node of this.#bare.values()) node.stop()
    await Promise.all([...this.simulated.values()].map((node) => node.stop()))
    for (const { runtime } of this.simulated.values()) {
      runtime.faults.powerFails()
      runtime.containers.powerOff()
    }
    this.network.close()
  }

  /** Closes the watch of all nodes, after the components that the kubelets used have stopped. */
  close(): void {
    for (const informers of this.#informers) informers.stop()
  }

  /** Returns what a node's kubelet follows: its own objects, or those that all nodes follow together. */
  #informersOf(name: string, clients: Clients, client: Client): Pick<SimulatedNodeOptions, "informers" | "pods"> {
    if (this.#options.assembly.overNetwork)
      return { informers: this.#follow(clients.contextOf(client, followingNode(name)).informers), pods: undefined }
    if (this.#shared === undefined) {
      const informers = this.#follow(clients.contextOf(this.#options.client).informers)
      this.#shared = { informers, pods: new PodsOfNodes(informers) }
    }
    const { informers, pods } = this.#shared
    return { informers, pods: pods.of(name) }
  }

  #follow(informers: Informers): Informers {
    this.#informers.push(informers)
    // The kubelet creates a deleted Node again at its next heartbeats, so these must not be skipped by the clock.
    const missing = new Map<string, () => void>()
    // The same informer provides the pod ranges of the Nodes.
    informers.of(Node).on({
      added: ({ metadata: { name = "" } }) => {
        missing.get(name)?.()
        missing.delete(name)
      },
      deleted: ({ metadata: { name = "" } }) => {
        if (this.simulated.has(name)) missing.set(name, this.#options.driver.beExact())
      },
    })
    return informers
  }
}
