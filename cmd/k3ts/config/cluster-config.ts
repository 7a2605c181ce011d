/** Turns the flags of `k3ts server` into the configuration of the cluster and its node, for components/cluster. */
import type { ApiServerConfig } from "../../../components/apiserver/apiserver-config.ts"
import type { DatastoreConfig } from "../../../components/apiserver/store/storage-config.ts"
import type { AuditLogOptions } from "../../../components/apiserver/audit/audit-log.ts"
import { availableParallelism, totalmem } from "node:os"
import { join } from "node:path"
import type { ClusterConfig } from "../../../components/cluster/assemble.ts"
import { bitsOf, familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { systemRandom, uuid } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import type { KubeletNames } from "../../../components/cluster/node/kubelet-serving.ts"
import type { HostNodeConfig } from "../../../components/cluster/node/host-node.ts"
import type { NodeContainerdConfig } from "../../../components/cluster/node/node-containerd.ts"
import type { LoneSimulatedNodeConfig } from "../../../components/cluster/node/simulated-node.ts"
import { readRegistries } from "../../../components/containerd/registries/registries.ts"
import { manifestFolder } from "../../../components/deployer/folder.ts"
import { processProfiler } from "../../../pkg/runtime/profiler.ts"
import { KUBELET_PORT } from "../../../pkg/component/node-connector.ts"
import type { OccupiedPorts } from "../../../components/controller-manager/servicelb/servicelb.ts"
import { DNS_PORT } from "../../../components/dns/dns.ts"
import { kubeletSettings } from "./kubelet-args.ts"
import { embeddedManifests } from "../embedded-manifests.ts"
import { defaultNodeIps, defaultNodeName, defaultResolvConf, readResolvConf } from "./host.ts"
import { datastoreOf } from "../datastore/flags.ts"
import { hasIPv6, type ClusterNetwork } from "./network.ts"
import { inFlightOf, PRIMARY_ADDRESSES, SIMULATED, type NodeFlags, type ServerFlags } from "./server-flags.ts"

const DISK_BYTES = 100 * 2 ** 30

/** A store that belongs to this server and to those that join it. */
export interface OwnSharedStore {
  readonly datastore: DatastoreConfig
  /** Returns what a server needs that joins, as JSON. */
  readonly invite: () => Promise<string>
}

export function clusterConfig(flags: ServerFlags, network: ClusterNetwork, own?: OwnSharedStore): ClusterConfig {
  const { disable, "cluster-domain": clusterDomain, "data-dir": dataDir } = flags
  const datastore = own?.datastore ?? datastoreOf(flags)
  return {
    apiServer: {
      dataDir,
      listen: { host: bindAddress(flags), port: flags["https-listen-port"] },
      advertiseAddress: flags["advertise-address"] ?? nodeIps(flags)[0]!,
      tlsSans: flags["tls-san"],
      serviceCidrs: network.serviceCidrs,
      localStorage: !disable.includes("local-storage"),
      ingress: servesIngresses(flags),
      gateway: serves("gateway", flags),
      nodePorts: flags["service-node-port-range"],
      clusterDomain,
      kubeconfig: { path: flags["write-kubeconfig"], mode: flags["write-kubeconfig-mode"] },
      ...(flags["audit-log-path"] === undefined ? {} : { auditLog: auditLogOf(flags["audit-log-path"], flags) }),
      historyMs: flags["history-age"] * 1000,
      historyBytes: flags["history-size"],
      eventSeconds: flags["event-ttl"],
      acceptDataLoss: flags["accept-data-loss"],
      ...(datastore === undefined ? {} : sharedStore(flags, datastore)),
      encryption: {
        secrets: flags["secrets-encryption"],
        provider: flags["secrets-encryption-provider"],
        file: flags["encryption-provider-config"],
        isReloaded: flags["encryption-provider-config-automatic-reload"],
      },
      ...(flags.profiling ? { profiler: processProfiler(realClock) } : {}),
      priorityAndFairness: flags["enable-priority-and-fairness"],
      maxInFlight: inFlightOf(flags),
      requestTimeoutMs: flags["request-timeout"] * 1000,
      shutdownDelayMs: (flags["shutdown-delay-duration"] ?? (datastore === undefined ? 0 : 1)) * 1000,
      connectionLimits: {
        headMs: flags["read-header-timeout"] * 1000,
        idleMs: flags["idle-timeout"] * 1000,
        unreadMs: flags["request-timeout"] * 1000,
      },
    },
    features: flags["feature-gates"],
    clusterCidrs: network.clusterCidrs,
    nodeMasks: network.nodeMasks,
    controllers: disable.includes("controller-manager")
      ? false
      : {
          simulatedVolumes: flags["container-runtime-endpoint"] === SIMULATED,
          disabled: new Set(disable.includes("servicelb") ? ["service-lb-controller"] : []),
          occupiedPorts: occupiedPorts(flags),
        },
    scheduler: !disable.includes("scheduler"),
    // As upstream's components name themselves in elections: the host, and a number for this process.
    ...(datastore === undefined ? {} : { candidate: `${nodeNameOf(flags)}_${uuid(systemRandom)}` }),
    usesTunnels: flags["egress-selector-mode"] === "agent",
    supervisor: {
      dir: join(dataDir, "server"),
      invite: own?.invite,
      clusterCidrs: [...network.clusterCidrs],
      serviceCidrs: [...network.serviceCidrs],
      clusterDns: [...network.clusterDns],
      clusterDomain,
      betweenNodes: {
        backend: flags["flannel-backend"],
        external: flags["flannel-external-ip"],
        masqueradesIPv6: flags["flannel-ipv6-masq"],
      },
      disabled: [...disable],
    },
    metricsServer: !disable.includes("metrics-server"),
    ...(disable.includes("manifests")
      ? {}
      : {
          deployer: {
            folder: manifestFolder(join(dataDir, "server/manifests"), realClock),
            embedded: embeddedManifests(flags, network),
            besideOthers: datastore !== undefined,
          },
        }),
  }
}

/** Servers that share a store share files too. The code for that is loaded only there. */
const sharedStore = (
  flags: ServerFlags,
  datastore: DatastoreConfig,
): Pick<ApiServerConfig, "datastore" | "beforeFiles"> => ({
  datastore,
  beforeFiles: async () => (await import("../datastore/share-files.ts")).shareServerFiles(flags, datastore),
})

/**
 * Returns the configuration of the node beside a control plane. `candidate` is the server's name in elections, where
 * several servers share the store.
 */
export const serverNodeConfig = (
  flags: ServerFlags,
  network: ClusterNetwork,
  candidate: string | undefined,
): HostNodeConfig => ({
  ...hostNodeConfig(flags, network),
  ...(serves("ingress", flags) || serves("gateway", flags) ? { ingress: { ...ingressConfig(flags), candidate } } : {}),
})

/** The flags of a node, and those that hold for its whole cluster. */
export type NodeInClusterFlags = NodeFlags &
  Pick<
    ServerFlags,
    "cluster-cidr" | "cluster-domain" | "disable" | "flannel-backend" | "flannel-external-ip" | "flannel-ipv6-masq"
  >

/** Returns the configuration of the containerd of a node in a cluster in which some parts are disabled. */
export function containerdConfig(flags: NodeFlags, disabled: readonly string[]): NodeContainerdConfig {
  const { "container-runtime-endpoint": endpoint, "pause-image": pauseImage } = flags
  const registries = endpoint === undefined ? readRegistries(flags["private-registry"]) : undefined
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
export function hostNodeConfig(flags: NodeInClusterFlags, network: ClusterNetwork): HostNodeConfig {
  const { disable, "container-runtime-endpoint": endpoint } = flags
  const resolvConf = flags["resolv-conf"] ?? defaultResolvConf()
  return {
    ...containerdConfig(flags, disable),
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
    networkPolicy: !disable.includes("network-policy"),
    ...(disable.includes("local-storage")
      ? {}
      : { localStoragePath: flags["default-local-storage-path"] ?? join(flags["data-dir"], "storage") }),
    resolvConf,
    labels: Object.fromEntries(flags["node-label"]),
    taints: flags["node-taint"],
    ...kubeletSettings(flags["kubelet-arg"], availableParallelism()),
  }
}

export const nodeNameOf = (flags: Pick<NodeFlags, "node-name">): string => flags["node-name"] ?? defaultNodeName()

/** The names and the port of this node's kubelet. */
export const kubeletNames = (flags: NodeFlags & Pick<ServerFlags, "cluster-cidr">): KubeletNames => ({
  nodeName: nodeNameOf(flags),
  nodeIps: nodeIps(flags),
  // Several simulated nodes may run beside each other, and beside a real node.
  kubeletPort: flags["kubelet-port"] ?? (flags["container-runtime-endpoint"] === SIMULATED ? 0 : KUBELET_PORT),
})

function kubeProxyConfig(flags: NodeInClusterFlags): NonNullable<HostNodeConfig["kubeProxy"]> {
  const { "proxy-mode": mode, "nodeport-addresses": ranges } = flags
  const nodePortCidrs = ranges.includes(PRIMARY_ADDRESSES)
    ? nodeIps(flags).map((ip) => `${ip}/${bitsOf(familyOf(ip))}`)
    : ranges
  return { nodePortCidrs, ...(mode === undefined ? {} : { mode }) }
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
      ...kubeletSettings(flags["kubelet-arg"], availableParallelism()),
    },
    dataDir: flags["data-dir"],
    clusterCidrs: network.clusterCidrs,
    clusterDomain: flags["cluster-domain"],
  }
}

/** Whether Ingresses are served, or Gateways: they need a real node. */
const serves = (part: "ingress" | "gateway", flags: ServerFlags): boolean =>
  !flags.disable.includes(part) && !flags["disable-agent"] && flags["container-runtime-endpoint"] !== SIMULATED
const servesIngresses = (flags: ServerFlags): boolean => serves("ingress", flags)

/** Returns the ports on which this machine listens: load balancers must not take their traffic. */
const occupiedPorts = (flags: ServerFlags): OccupiedPorts => ({
  always: new Map([
    [`${flags["https-listen-port"]}/TCP`, "the API server"],
    [`${flags["kubelet-port"] ?? KUBELET_PORT}/TCP`, "the kubelet"],
  ]),
  ...(servesIngresses(flags)
    ? { ingress: [`${flags["ingress-http-port"]}/TCP`, `${flags["ingress-https-port"]}/TCP`] }
    : {}),
})

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
  const { first, last } = flags["service-node-port-range"]
  return port >= first && port <= last ? "node ports of Services" : NODE_PORTS.get(port)
}

const nodeIps = (flags: Pick<ServerFlags, "node-ip" | "cluster-cidr">): readonly string[] =>
  flags["node-ip"].length > 0 ? flags["node-ip"] : defaultNodeIps(flags["cluster-cidr"].map(familyOf))

/** Returns the address on which the API server listens. A socket of `::` takes connections of IPv4 too. */
export const bindAddress = (flags: Pick<ServerFlags, "bind-address" | "cluster-cidr">): string =>
  flags["bind-address"] ?? (hasIPv6(flags) ? "::" : "0.0.0.0")

const auditLogOf = (path: string, flags: ServerFlags): AuditLogOptions => ({
  path,
  mostBytes: flags["audit-log-maxsize"] * 2 ** 20,
  mostFiles: flags["audit-log-maxbackup"],
  mostAgeMs: flags["audit-log-maxage"] * 24 * 3_600_000,
})
