import type { HostNodeConfig } from "../../../components/cluster/node/host-node.ts"
import type { LoneSimulatedNodeConfig } from "../../../components/cluster/node/simulated-node.ts"
import { BACKENDS } from "../../../components/containerd/network/backend/backend-names.ts"
import type { AgentConfig } from "../../../components/supervisor/agent-config.ts"
import { hostNodeConfig, simulatedNodeConfig } from "./node-config.ts"
import { OPTIONAL_PARTS, type NodeFlags } from "./server-flags.ts"
import type { ClusterNetwork } from "./network.ts"

/** The cluster that an agent joins, in the words of the server's flags. */
function clusterOf({ clusterCidrs, serviceCidrs, clusterDns, clusterDomain, betweenNodes, disabled }: AgentConfig) {
  const backend = BACKENDS.find((name) => name === betweenNodes.backend)
  if (backend === undefined)
    throw new Error(
      `the server's --flannel-backend ${JSON.stringify(betweenNodes.backend)} is not known here: run the same version ` +
        "of k3ts on both machines",
    )
  return {
    shared: {
      "cluster-cidr": [...clusterCidrs],
      "cluster-domain": clusterDomain,
      "flannel-backend": backend,
      "flannel-external-ip": betweenNodes.external,
      "flannel-ipv6-masq": betweenNodes.masqueradesIPv6,
      // A newer server may know parts that this program does not have.
      disable: OPTIONAL_PARTS.filter((part) => disabled.includes(part)),
    },
    network: {
      clusterCidrs,
      serviceCidrs,
      clusterDns,
      nodeMasks: [],
      firstNodeRanges: [],
    } satisfies ClusterNetwork,
  }
}

export function agentNodeConfig(flags: NodeFlags, config: AgentConfig): Promise<HostNodeConfig> {
  const { shared, network } = clusterOf(config)
  return hostNodeConfig({ ...flags, ...shared }, network)
}

export function agentSimulatedNodeConfig(flags: NodeFlags, config: AgentConfig): LoneSimulatedNodeConfig {
  const { shared, network } = clusterOf(config)
  return simulatedNodeConfig({ ...flags, ...shared }, network)
}
