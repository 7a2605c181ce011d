import { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { Taint } from "../../pkg/api/core/v1/node/nodespec.ts"
import type { Informers } from "../../pkg/client/informer.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import type { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { createKubelet, kubeletFolders, type KubeletOptions } from "../kubelet/kubelet.ts"
import { ImageBehaviours } from "../kubelet/runtime/simulated/containers/behaviour.ts"
import { SimulatedNetwork } from "../kubelet/runtime/simulated/machine/network.ts"
import { createSimulatedRuntime, type SimulatedRuntime } from "../kubelet/runtime/simulated/simulated-runtime.ts"
import type { AssembledCluster } from "./assemble.ts"
import { followingNode, nodeUser, type Tools } from "./clients.ts"
import { kubeletServing } from "./kubelet-serving.ts"
import type { OrderedComponent } from "./lifecycle.ts"
import { Part } from "./part.ts"

/** What a simulated machine has, and what its Node says of it. */
export interface SimulatedNodeSpec {
  readonly name: string
  /** Its addresses, the main one first. */
  readonly ips: readonly string[]
  readonly cpus: number
  readonly memoryBytes: number
  readonly diskBytes: number
  readonly maxPods: number
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  /** See KubeletConfig. */
  readonly syncFrequencyMs: number
}

export interface SimulatedMachineOptions {
  readonly spec: SimulatedNodeSpec
  readonly tools: Pick<ComponentContext, "clock" | "random">
  /** Where the machine learns the range of its pods' addresses, from its Node. */
  readonly informers: Informers
  /** The ranges until the Node has some, one of each family of pods. */
  readonly podCidrs: readonly string[]
  readonly behaviours: ImageBehaviours
  readonly network: SimulatedNetwork
}

/** A machine in memory: its files, images and containers. They outlive the kubelet on it. */
export function simulatedMachine(options: SimulatedMachineOptions): SimulatedRuntime {
  const { spec, tools, informers, podCidrs, behaviours, network } = options
  const { clock, random } = tools
  return createSimulatedRuntime({
    name: spec.name,
    cpus: spec.cpus,
    memoryBytes: spec.memoryBytes,
    diskBytes: spec.diskBytes,
    nodeIps: spec.ips,
    clock,
    random,
    behaviours,
    network,
    podCidrs: () => informers.of(Node).get(spec.name)?.spec.podCIDRs ?? podCidrs,
  })
}

export interface SimulatedKubeletOptions {
  readonly spec: SimulatedNodeSpec
  readonly machine: SimulatedRuntime
  readonly connectors: NodeConnectors
  readonly clusterDns: readonly string[]
  readonly clusterDomain: string
  /** Folders of the kubelet, on the machine in memory. */
  readonly root: string
  readonly staticPods: string
  /** See KubeletOptions; in memory unless given. */
  readonly serving?: KubeletOptions["serving"]
  /** See KubeletOptions. */
  readonly networkReady?: KubeletOptions["networkReady"]
}

/** The real kubelet over a machine in memory. Nothing of the host is touched. */
export function simulatedKubelet(
  context: ComponentContext,
  { spec, machine, connectors, serving = "in memory", ...config }: SimulatedKubeletOptions,
): Component {
  return createKubelet(context, {
    ...config,
    nodeName: spec.name,
    nodeIps: spec.ips,
    podLogs: "/var/log/pods",
    resolvConf: "",
    maxPods: spec.maxPods,
    cgroupDriver: "cgroupfs",
    labels: spec.labels,
    taints: spec.taints,
    syncFrequencyMs: spec.syncFrequencyMs,
    runtime: machine,
    nodes: connectors,
    serving,
  })
}

export interface LoneSimulatedNodeConfig {
  /** Port of this machine on which the simulated kubelet's own API is served; 0 for none. */
  readonly kubeletPort: number
  readonly spec: SimulatedNodeSpec
  /** Its folders say where the kubelet's files lie, which are in memory too. */
  readonly dataDir: string
  readonly clusterCidrs: readonly string[]
  readonly clusterDomain: string
}

/**
 * A simulated node that stands where host-node.ts puts this machine. There is neither kube-proxy nor DNS: they would
 * change the host.
 */
export function loneSimulatedNode(
  tools: Tools,
  { apiServer, clients, connectors }: Pick<AssembledCluster, "apiServer" | "clients" | "connectors">,
  { spec, dataDir, clusterCidrs, clusterDomain, kubeletPort }: LoneSimulatedNodeConfig,
): readonly OrderedComponent[] {
  const [behaviours, network] = [new ImageBehaviours(), new SimulatedNetwork(tools.clock)]
  const create = (context: ComponentContext): Component => {
    const { informers } = context
    const machine = simulatedMachine({ spec, tools, informers, podCidrs: clusterCidrs, behaviours, network })
    const folders = kubeletFolders(dataDir)
    const kubelet = simulatedKubelet(context, {
      spec,
      machine,
      connectors,
      clusterDns: [],
      clusterDomain,
      ...folders,
      ...(kubeletPort === 0
        ? {}
        : { serving: kubeletServing(apiServer, { ...spec, nodeIps: spec.ips, nodeName: spec.name, kubeletPort }) }),
    })
    return {
      name: kubelet.name,
      async start(signal) {
        // Pods' addresses come from the range that the node is given.
        const known = informers.of(Node).whenSynced()
        await kubelet.start(signal)
        await known
      },
      stop: () => kubelet.stop(),
      problem: () => kubelet.problem?.(),
    }
  }
  const kubelet = new Part({
    name: "kubelet",
    clients,
    user: nodeUser(spec.name),
    following: followingNode(spec.name),
    create,
  })
  return [{ component: kubelet, after: [apiServer.name] }]
}
