import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Taint } from "../../../pkg/api/core/v1/node/nodespec.ts"
import type { Informers } from "../../../pkg/client/informer.ts"
import type { Component, ComponentContext } from "../../../pkg/component/component.ts"
import type { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { DEVICE_PLUGINS_FOLDER } from "../../kubelet/devicemanager/plugin-socket.ts"
import { POD_RESOURCES_FOLDER } from "../../kubelet/podresources/pod-resources.ts"
import { createKubelet, type KubeletOptions } from "../../kubelet/kubelet.ts"
import { kubeletFolders } from "../../kubelet/model/config.ts"
import type { KubeletTuning } from "../../kubelet/model/tuning.ts"
import type { SimulatedDriver } from "../../kubelet/runtime/simulated/csi/simulated-driver.ts"
import { ImageBehaviours } from "../../kubelet/runtime/simulated/containers/behaviour.ts"
import { SimulatedNetwork } from "../../kubelet/runtime/simulated/machine/network.ts"
import { createSimulatedRuntime, type SimulatedRuntime } from "../../kubelet/runtime/simulated/simulated-runtime.ts"
import { followingNode, nodeUser, type Tools } from "../clients.ts"
import type { OrderedComponent } from "../lifecycle.ts"
import type { NodePlace } from "./node-place.ts"
import { Part } from "../part.ts"

/** What a simulated machine has, and what its Node shows of it. */
export interface SimulatedNodeSpec {
  readonly name: string
  /** Its addresses, the primary one first. */
  readonly ips: readonly string[]
  /** See KubeletConfig; none by default. */
  readonly externalIps?: readonly string[]
  readonly cpus: number
  readonly memoryBytes: number
  readonly diskBytes: number
  readonly maxPods: number
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  /** See KubeletConfig. */
  readonly syncFrequencyMs: number
  readonly tuning?: KubeletTuning
  /** See KubeletConfig. */
  readonly adoptsVolumesLate?: boolean
}

export interface SimulatedMachineOptions {
  readonly spec: SimulatedNodeSpec
  readonly tools: Pick<ComponentContext, "clock" | "random">
  /** From these the machine reads its pod range, which is in its Node. */
  readonly informers: Informers
  /** The ranges until the Node has some, one of each family of pods. */
  readonly podCidrs: readonly string[]
  readonly behaviours: ImageBehaviours
  readonly network: SimulatedNetwork
  /** The CSI drivers of the cluster; none by default. */
  readonly csiDrivers?: readonly SimulatedDriver[]
}

/** Creates a machine in memory: its files, images and containers survive a restart of its kubelet. */
export function simulatedMachine(options: SimulatedMachineOptions): SimulatedRuntime {
  const { spec, tools, informers, podCidrs, behaviours, network, csiDrivers = [] } = options
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
    csiDrivers,
    podCidrs: () => informers.of(Node).get(spec.name)?.spec.podCIDRs ?? podCidrs,
  })
}

export interface SimulatedKubeletOptions {
  readonly spec: SimulatedNodeSpec
  readonly machine: SimulatedRuntime
  readonly connectors: NodeConnectors
  readonly clusterDns: readonly string[]
  readonly clusterDomain: string
  /** The kubelet's folders, on the machine in memory. */
  readonly root: string
  readonly staticPods: string
  /** See KubeletOptions; in memory by default. */
  readonly serving?: KubeletOptions["serving"]
  /** See KubeletOptions. */
  readonly networkReady?: KubeletOptions["networkReady"]
}

/** Creates the real kubelet for a machine in memory. It touches nothing of the host. */
export function simulatedKubelet(
  context: ComponentContext,
  { spec, machine, connectors, serving = "in memory", ...config }: SimulatedKubeletOptions,
): Component {
  return createKubelet(context, {
    ...config,
    nodeName: spec.name,
    nodeIps: spec.ips,
    externalIps: spec.externalIps ?? [],
    podLogs: "/var/log/pods",
    devicePlugins: DEVICE_PLUGINS_FOLDER,
    podResources: POD_RESOURCES_FOLDER,
    resolvConf: "",
    maxPods: spec.maxPods,
    cgroupDriver: "cgroupfs",
    labels: spec.labels,
    taints: spec.taints,
    syncFrequencyMs: spec.syncFrequencyMs,
    ...(spec.tuning === undefined ? {} : { tuning: spec.tuning }),
    ...(spec.adoptsVolumesLate === undefined ? {} : { adoptsVolumesLate: spec.adoptsVolumesLate }),
    runtime: machine,
    nodes: connectors,
    serving,
  })
}

export interface LoneSimulatedNodeConfig {
  readonly spec: SimulatedNodeSpec
  /** Gives the paths of the kubelet's files, which are also in memory. */
  readonly dataDir: string
  readonly clusterCidrs: readonly string[]
  readonly clusterDomain: string
}

/**
 * Creates a simulated node in place of the one in host-node.ts. It has neither kube-proxy nor DNS, which would change
 * the host.
 */
export function loneSimulatedNode(
  tools: Tools,
  { clients, connectors, serving, after, more }: NodePlace,
  { spec, dataDir, clusterCidrs, clusterDomain }: LoneSimulatedNodeConfig,
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
      ...(serving === undefined ? {} : { serving }),
    })
    return {
      name: kubelet.name,
      async start(signal) {
        // Pods' addresses come from the range in the Node.
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
  return [{ component: kubelet, after }, ...more]
}
