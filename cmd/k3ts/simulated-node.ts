import { availableParallelism, totalmem } from "node:os"
import { createKubelet, kubeletFolders } from "../../components/kubelet/kubelet.ts"
import { ImageBehaviours } from "../../components/kubelet/runtime/simulated/containers/behaviour.ts"
import { SimulatedNetwork } from "../../components/kubelet/runtime/simulated/machine/network.ts"
import { createSimulatedRuntime } from "../../components/kubelet/runtime/simulated/simulated-runtime.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { Component } from "../../pkg/component/component.ts"
import type { NodeConnectors } from "../../pkg/component/node-connector.ts"
import type { Clients, Context } from "./context.ts"
import { kubeletContext } from "./kubelet-context.ts"
import { defaultNodeIp, defaultNodeName } from "./host.ts"
import type { Part } from "../../components/cluster/lifecycle.ts"
import { kubeletArgs, type ServerFlags } from "./server-flags.ts"

const KUBELET_PORT = 10250
const MAX_PODS = 110
const DISK_BYTES = 100 * 2 ** 30

export interface SimulatedNodeOptions {
  readonly context: Context
  readonly clients: Clients
  readonly flags: ServerFlags
  readonly nodes: NodeConnectors
}

/**
 * `--container-runtime-endpoint simulated`: the real kubelet over containers in memory. Nothing of the host is touched,
 * so there is neither kube-proxy nor DNS.
 */
export function simulatedNodeParts({ context, clients, flags, nodes }: SimulatedNodeOptions): Part[] {
  const { clock, random } = context
  const nodeName = flags["node-name"] ?? defaultNodeName()
  const nodeIps = flags["node-ip"].length > 0 ? flags["node-ip"] : [defaultNodeIp()]
  const kubelet = kubeletContext(clients, nodeName)
  const runtime = createSimulatedRuntime({
    name: nodeName,
    cpus: availableParallelism(),
    memoryBytes: totalmem(),
    diskBytes: DISK_BYTES,
    nodeIp: nodeIps[0]!,
    clock,
    random,
    behaviours: new ImageBehaviours(),
    network: new SimulatedNetwork(clock),
    podCidr: () => kubelet.informers.of(Node).get(nodeName)?.spec.podCIDR ?? flags["cluster-cidr"],
  })
  const agent = createKubelet(kubelet, {
    nodeName,
    nodeIps,
    ...kubeletFolders(flags["data-dir"]),
    podLogs: "/var/log/pods",
    clusterDns: [],
    clusterDomain: flags["cluster-domain"],
    resolvConf: "",
    maxPods: MAX_PODS,
    cgroupDriver: "cgroupfs",
    labels: Object.fromEntries(flags["node-label"]),
    taints: flags["node-taint"],
    port: KUBELET_PORT,
    ...kubeletArgs(flags),
    runtime,
    nodes,
  })
  const component: Component = {
    name: agent.name,
    async start(signal) {
      // Pods' addresses come from the range that the node is given.
      const known = kubelet.informers.of(Node).whenSynced()
      await agent.start(signal)
      await known
    },
    stop: () => agent.stop(),
    problem: () => agent.problem?.(),
  }
  return [{ component, after: ["informers"] }]
}
