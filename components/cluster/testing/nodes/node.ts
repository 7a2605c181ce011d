import { createKubelet } from "../../../kubelet/kubelet.ts"
import { createSimulatedRuntime, type SimulatedRuntime } from "../../../kubelet/runtime/simulated/simulated-runtime.ts"
import type { ImageBehaviours } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { SimulatedNetwork } from "../../../kubelet/runtime/simulated/machine/network.ts"
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import type { Informers } from "../../../../pkg/client/informer.ts"
import type { Component, ComponentContext } from "../../../../pkg/component/component.ts"
import type { NodeConnectors } from "../../../../pkg/component/node-connector.ts"
import { informersOfNode, type NodePods } from "./node-informers.ts"
import { HeldPart } from "../faults/held-part.ts"
import type { NodeSpec } from "../options.ts"

export interface SimulatedNodeOptions {
  readonly spec: NodeSpec
  /** Of the node among all. */
  readonly index: number
  /** Acts as the node's own user. */
  readonly context: Omit<ComponentContext, "informers">
  readonly informers: Informers
  readonly pods: NodePods
  readonly behaviours: ImageBehaviours
  readonly network: SimulatedNetwork
  readonly connectors: NodeConnectors
  /** Ends with the cluster. */
  readonly signal: AbortSignal
}

const KUBELET_PORT = 10250

/** A machine in memory with the real kubelet on it. */
export class SimulatedNode {
  readonly spec: NodeSpec
  readonly runtime: SimulatedRuntime
  readonly ip: string
  readonly #options: SimulatedNodeOptions
  /** Its kubelet, as faults take it away. */
  readonly kubelet: HeldPart
  #kubelet: Component | undefined
  #off = 0
  #cutOff = 0

  constructor(options: SimulatedNodeOptions) {
    const {
      spec,
      index,
      context: { clock, random },
      behaviours,
      network,
      informers,
    } = options
    this.#options = options
    this.kubelet = new HeldPart({ crash: () => this.stop(), start: () => this.start() })
    this.spec = spec
    this.ip = `192.168.${Math.floor(index / 250)}.${(index % 250) + 2}`
    this.runtime = createSimulatedRuntime({
      name: spec.name,
      cpus: spec.cpus,
      memoryBytes: spec.memoryBytes,
      diskBytes: spec.diskBytes,
      nodeIp: this.ip,
      clock,
      random,
      behaviours,
      network,
      // Until the node IPAM controller has said otherwise, or when it does not run.
      podCidr: () => informers.of(Node).get(spec.name)?.spec.podCIDR ?? `10.${128 + (index >> 8)}.${index & 255}.0/24`,
    })
  }

  get name(): string {
    return this.spec.name
  }
  get running(): boolean {
    return this.#kubelet !== undefined
  }

  async start(): Promise<void> {
    const { spec, context, informers, pods, connectors, signal } = this.#options
    const kubelet = createKubelet(
      { ...context, informers: informersOfNode(informers, pods) },
      {
        nodeName: spec.name,
        nodeIps: [this.ip],
        root: "/var/lib/kubelet",
        podLogs: "/var/log/pods",
        staticPods: "/etc/kubernetes/manifests",
        clusterDns: ["10.43.0.10"],
        clusterDomain: "cluster.local",
        resolvConf: "",
        maxPods: spec.maxPods,
        cgroupDriver: "cgroupfs",
        labels: spec.labels,
        taints: spec.taints,
        port: KUBELET_PORT,
        syncFrequencyMs: spec.syncFrequencyMs,
        runtime: this.runtime,
        nodes: connectors,
      },
    )
    this.#kubelet = kubelet
    await kubelet.start(signal)
  }

  /** The kubelet ends; its containers run on. */
  async stop(): Promise<void> {
    const kubelet = this.#kubelet
    this.#kubelet = undefined
    await kubelet?.stop()
  }

  /** The machine is off: no kubelet, and nothing runs. Until as many calls of `powerOn`. */
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

  /** Cut off from everything but its own containers. Until as many calls of `rejoin`. */
  cutOff(): void {
    if (this.#cutOff++ > 0) return
    this.runtime.faults.partitioned = true
    this.#options.pods.hold()
  }

  rejoin(): void {
    if (--this.#cutOff > 0) return
    this.runtime.faults.partitioned = false
    this.#options.pods.release()
  }
}
