import type { SimulatedRuntime } from "../../../kubelet/runtime/simulated/simulated-runtime.ts"
import type { ImageBehaviours } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { SimulatedDriver } from "../../../kubelet/runtime/simulated/csi/simulated-driver.ts"
import type { SimulatedNetwork } from "../../../kubelet/runtime/simulated/machine/network.ts"
import type { Informers } from "../../../../pkg/client/informer.ts"
import type { Component, ComponentContext } from "../../../../pkg/component/component.ts"
import type { NodeConnectors } from "../../../../pkg/component/node-connector.ts"
import { simulatedKubelet, simulatedMachine, type SimulatedNodeSpec } from "../../node/simulated-node.ts"
import { informersOfNode, type NodePods } from "./node-informers.ts"
import { HeldPart } from "../faults/held-part.ts"
import { CLUSTER_DOMAIN, type ClusterAddresses } from "../network/network.ts"
import type { NodeSpec } from "../options/node-spec.ts"
import type { RunningNode, RunningNodes } from "./running-nodes.ts"

export interface SimulatedNodeOptions {
  readonly spec: NodeSpec
  /** The index of the node in the cluster. */
  readonly index: number
  /** The addresses of its cluster. */
  readonly addresses: Pick<ClusterAddresses, "nodeIps" | "firstPodCidrs" | "clusterDns">
  /** Acts as the node's own user. */
  readonly context: Omit<ComponentContext, "informers">
  readonly informers: Informers
  /** Its pods, if `informers` has those of all nodes. */
  readonly pods: NodePods | undefined
  readonly behaviours: ImageBehaviours
  readonly network: SimulatedNetwork
  readonly csiDrivers: readonly SimulatedDriver[]
  readonly connectors: NodeConnectors
  /** Aborts when the cluster ends. */
  readonly signal: AbortSignal
}

/** A machine in memory with the real kubelet. */
export class SimulatedNode {
  readonly spec: SimulatedNodeSpec
  readonly runtime: SimulatedRuntime
  readonly #options: SimulatedNodeOptions
  /** The kubelet, which faults can stop. */
  readonly kubelet: HeldPart
  #kubelet: Component | undefined
  #off = 0
  #cutOff = 0

  constructor(options: SimulatedNodeOptions) {
    const { spec, index, addresses, context, behaviours, network, informers, csiDrivers } = options
    this.#options = options
    this.kubelet = new HeldPart({ crash: () => this.stop(), start: () => this.start() })
    this.spec = { ...spec, ips: addresses.nodeIps(index) }
    this.runtime = simulatedMachine({
      spec: this.spec,
      tools: context,
      informers,
      behaviours,
      network,
      csiDrivers,
      podCidrs: addresses.firstPodCidrs(index),
    })
  }

  get name(): string {
    return this.spec.name
  }
  get running(): boolean {
    return this.#kubelet !== undefined
  }

  async start(): Promise<void> {
    const { addresses, context, informers, pods, connectors, signal } = this.#options
    const kubelet = simulatedKubelet(
      { ...context, informers: pods === undefined ? informers : informersOfNode(informers, pods) },
      {
        spec: this.spec,
        machine: this.runtime,
        connectors,
        clusterDns: addresses.clusterDns,
        clusterDomain: CLUSTER_DOMAIN,
        root: "/var/lib/kubelet",
        staticPods: "/etc/kubernetes/manifests",
      },
    )
    this.#kubelet = kubelet
    await kubelet.start(signal)
  }

  /** Takes over what runs on a machine, before the kubelet starts. */
  takeOver({ pods, images, problem }: RunningNode, behaviourOf: RunningNodes["behaviourOf"]): void {
    for (const image of images) this.runtime.images.add(image)
    for (const pod of pods) this.runtime.containers.takeOver(pod, behaviourOf)
    this.runtime.faults.networkProblem = problem
  }

  /** Stops the kubelet; its containers keep running. */
  async stop(): Promise<void> {
    const kubelet = this.#kubelet
    this.#kubelet = undefined
    await kubelet?.stop()
  }

  /** Turns the machine off: no kubelet, no containers. Ends after as many calls of `powerOn`. */
  async powerOff(): Promise<void> {
    const { faults, containers } = this.runtime
    if (this.#off++ === 0) {
      faults.powerFails()
      containers.powerOff()
    }
    await this.kubelet.hold()
  }

  async powerOn(): Promise<void> {
    if (--this.#off === 0) this.runtime.faults.powerReturns()
    await this.kubelet.release()
  }

  /** Disconnects the node from everything but its own containers. Ends after as many calls of `rejoin`. */
  cutOff(): void {
    if (this.#cutOff++ > 0) return
    this.runtime.faults.partitioned = true
    this.#options.pods?.hold()
  }

  rejoin(): void {
    if (--this.#cutOff > 0) return
    this.runtime.faults.partitioned = false
    this.#options.pods?.release()
  }
}
