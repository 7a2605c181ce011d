/** Turns flags into the configuration of a node, for components/cluster. A server without one does not load this. */
import { availableParallelism, totalmem } from "node:os"
import { join } from "node:path"
import type { HostNodeConfig } from "../../../components/cluster/node/host-node.ts"
import { USUAL_KUBELET_ROOT } from "../../../components/cluster/node/kubelet-root.ts"
import type { NodeContainerdConfig } from "../../../components/cluster/node/node-containerd.ts"
import type { LoneSimulatedNodeConfig } from "../../../components/cluster/node/simulated-node.ts"
import { readRegistries } from "../../../components/containerd/registries/read-registries.ts"
import { DNS_PORT } from "../../../components/dns/dns.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { UsageError } from "../cli/usage-error.ts"
import { bitsOf, familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { nodeIps, nodeNameOf, serves, servesIngresses } from "./cluster-config.ts"
import { defaultResolvConf, readResolvConf } from "./host.ts"
import { kubeletSettings } from "./kubelet-args.ts"
import type { ClusterNetwork } from "./network.ts"
import { ownPortsOfControlPlane, ownPortsOfNode } from "./own-ports.ts"
import { PRIMARY_ADDRESSES } from "./proxy-flags.ts"
import { DATA_DIR, type NodeFlags, type ServerFlags } from "./server-flags.ts"

const DISK_BYTES = 100 * 2 ** 30

/**
 * Returns the configuration of the node beside a control plane. `candidate` is the server's name in elections, where
 * several servers share the store.
 */
export const serverNodeConfig = async (
  flags: ServerFlags,
  network: ClusterNetwork,
  candidate: string | undefined,
): Promise<HostNodeConfig> => ({
  ...(await hostNodeConfig(flags, network)),
  ownPorts: [...ownPortsOfNode(flags), ...ownPortsOfControlPlane(flags)],
  ...(serves("ingress", flags) || serves("gateway", flags) ? { ingress: { ...ingressConfig(flags), candidate } } : {}),
})

/** The flags of a node, and those that hold for its whole cluster. */
export type NodeInClusterFlags = NodeFlags &
  Pick<
    ServerFlags,
    "cluster-cidr" | "cluster-domain" | "disable" | "flannel-backend" | "flannel-external-ip" | "flannel-ipv6-masq"
  >

/** @throws UsageError with the flag, the file, the field and what is wrong with it */
async function registriesIn(file: string): ReturnType<typeof readRegistries> {
  try {
    return await readRegistries(file)
  } catch (err) {
    throw new UsageError(`--private-registry cannot be used:\n${errorMessage(err)}`, { cause: err })
  }
}

/** Returns the configuration of the containerd of a node in a cluster in which some parts are disabled. */
export async function containerdConfig(flags: NodeFlags, disabled: readonly string[]): Promise<NodeContainerdConfig> {
  const { "container-runtime-endpoint": endpoint, "pause-image": pauseImage } = flags
  const registries = endpoint === undefined ? await registriesIn(flags["private-registry"]) : undefined
  return {
    dataDir: flags["data-dir"],
    ...(pauseImage === undefined ? {} : { pauseImage }),
    ...(registries === undefined
      ? {}
      : { registries: { ...registries, mirrorsOnly: flags["disable-default-registry-endpoint"] } }),
    sourceGuard: !disabled.includes("source-guard"),
  }
}

/** Returns the configuration of a node without Ingress. */
export async function hostNodeConfig(flags: NodeInClusterFlags, network: ClusterNetwork): Promise<HostNodeConfig> {
  const { disable, "container-runtime-endpoint": endpoint } = flags
  const resolvConf = flags["resolv-conf"] ?? defaultResolvConf()
  return {
    ...(await containerdConfig(flags, disable)),
    nodeName: nodeNameOf(flags),
    nodeIps: nodeIps(flags),
    externalIps: flags["node-external-ip"],
    ...(endpoint === undefined ? {} : { containerRuntimeEndpoint: endpoint }),
    clusterCidrs: network.clusterCidrs,
    firstNodeRanges: network.firstNodeRanges,
    betweenNodes: {
      backend: flags["flannel-backend"],
      interface: flags["flannel-iface"],
      external: flags["flannel-external-ip"],
      masqueradesIPv6: flags["flannel-ipv6-masq"],
    },
    clusterDomain: flags["cluster-domain"],
    ...(disable.includes("dns") ? {} : { dns: dnsConfig(network, resolvConf) }),
    ...(disable.includes("kube-proxy") ? {} : { kubeProxy: kubeProxyConfig(flags) }),
    ownPorts: ownPortsOfNode(flags),
    networkPolicy: !disable.includes("network-policy"),
    ...(disable.includes("local-storage")
      ? {}
      : { localStoragePath: flags["default-local-storage-path"] ?? join(flags["data-dir"], "storage") }),
    resolvConf,
    labels: Object.fromEntries(flags["node-label"]),
    taints: flags["node-taint"],
    // Other data directories are on disks that were chosen for what pods write, or are those of a second node.
    ...(flags["data-dir"] === DATA_DIR ? { kubeletRoot: USUAL_KUBELET_ROOT } : {}),
    ...kubeletSettings(flags["kubelet-arg"], availableParallelism(), flags["feature-gates"]),
  }
}

function kubeProxyConfig(flags: NodeInClusterFlags): NonNullable<HostNodeConfig["kubeProxy"]> {
  const {
    "proxy-mode": mode,
    "nodeport-addresses": ranges,
    "conntrack-tcp-timeout-close-wait": closeWaitSeconds,
  } = flags
  const nodePortCidrs = ranges.includes(PRIMARY_ADDRESSES)
    ? nodeIps(flags).map((ip) => `${ip}/${bitsOf(familyOf(ip))}`)
    : ranges
  const { "kube-proxy-healthz-bind-address": health, "kube-proxy-metrics-bind-address": status } = flags
  const at = (given: NonNullable<typeof health>) => (given === "none" ? [] : [given])
  return {
    nodePortCidrs,
    closeWaitSeconds,
    ...(mode === undefined ? {} : { mode }),
    serving: {
      ...(health === undefined ? {} : { health: at(health) }),
      ...(status === undefined ? {} : { status: at(status) }),
    },
  }
}

function dnsConfig({ clusterDns }: ClusterNetwork, resolvConf: string): NonNullable<HostNodeConfig["dns"]> {
  const { servers, searches } = readResolvConf(resolvConf)
  return { addresses: clusterDns, upstreams: servers.map((address) => ({ address, port: DNS_PORT })), searches }
}

/**
 * The configuration for `--container-runtime-endpoint simulated`: a simulated node with the resources of this machine.
 */
export function simulatedNodeConfig(flags: NodeInClusterFlags, network: ClusterNetwork): LoneSimulatedNodeConfig {
  return {
    spec: {
      name: nodeNameOf(flags),
      ips: nodeIps(flags),
      externalIps: flags["node-external-ip"],
      cpus: availableParallelism(),
      memoryBytes: totalmem(),
      diskBytes: DISK_BYTES,
      labels: Object.fromEntries(flags["node-label"]),
      taints: flags["node-taint"],
      ...kubeletSettings(flags["kubelet-arg"], availableParallelism(), flags["feature-gates"]),
    },
    dataDir: flags["data-dir"],
    clusterCidrs: network.clusterCidrs,
    clusterDomain: flags["cluster-domain"],
  }
}

function ingressConfig(flags: ServerFlags): NonNullable<HostNodeConfig["ingress"]> {
  const accessLog = flags["ingress-access-log"]
  return {
    apiPort: flags["https-listen-port"],
    httpPort: flags["ingress-http-port"],
    httpsPort: flags["ingress-https-port"],
    ingresses: servesIngresses(flags),
    ...(serves("gateway", flags)
      ? { gateway: { addresses: flags["gateway-address"], reserved: (port) => reservedFor(port, flags) } }
      : {}),
    ...(accessLog === undefined ? {} : { accessLog }),
  }
}

/** Ports that programs of a node listen on, or on which others expect them. */
const NODE_PORTS: ReadonlyMap<number, string> = new Map([
  [22, "SSH"],
  [53, "DNS"],
  [2379, "etcd"],
  [2380, "etcd"],
  [10248, "the kubelet"],
  [10249, "kube-proxy"],
  [10250, "the kubelet"],
  [10255, "the kubelet"],
  [10256, "kube-proxy"],
  [10257, "the controller manager"],
  [10259, "the scheduler"],
])

/** Who has a port that no listener of a Gateway may have. */
function reservedFor(port: number, flags: ServerFlags): string | undefined {
  if (port === flags["https-listen-port"] || port === 6443) return "the API server"
  if (port === flags["kubelet-port"]) return "the kubelet"
  for (const name of ["kube-proxy-healthz-bind-address", "kube-proxy-metrics-bind-address"] as const) {
    const at = flags[name]
    if (at !== undefined && at !== "none" && at.port === port) return "kube-proxy"
  }
  const { first, last } = flags["service-node-port-range"]
  return port >= first && port <= last ? "node ports of Services" : NODE_PORTS.get(port)
}
