/** Turns the flags of `k3ts server` into the configuration of the cluster, for components/cluster. */
import { usualHistoryBytes } from "./history-size.ts"
import type { ApiServerConfig } from "../../../components/apiserver/apiserver-config.ts"
import type { DatastoreConfig } from "../../../components/apiserver/store/storage-config.ts"
import { join } from "node:path"
import type { ClusterConfig } from "../../../components/cluster/assemble.ts"
import { familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { systemRandom, uuid } from "../../../pkg/clock/random.ts"
import { servedOptionalKinds } from "../../../pkg/component/optional-kinds.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import type { KubeletNames } from "../../../components/cluster/node/kubelet-serving.ts"
import { manifestFolder } from "../../../components/deployer/folder.ts"
import { processProfiler } from "../../../pkg/runtime/profiler.ts"
import { KUBELET_PORT } from "../../../pkg/component/node-connector.ts"
import type { OccupiedPorts } from "../../../components/controller-manager/servicelb/servicelb.ts"
import { embeddedManifests } from "../embedded-manifests.ts"
import { defaultNodeIps, defaultNodeName } from "./host.ts"
import { admissionOf, tolerationSecondsOf } from "./admission-flags.ts"
import { auditOf } from "./audit-flags.ts"
import { datastoreOf } from "../datastore/flags.ts"
import { ownPortsOfControlPlane, ownPortsOfNode } from "./own-ports.ts"
import { hasIPv6, type ClusterNetwork } from "./network.ts"
import { signInOf } from "./authentication-flags.ts"
import { furtherAuthoritiesOf } from "./authority-flags.ts"
import { authorizationOf } from "./authorization-flags.ts"
import { controllersOf } from "./controller-flags.ts"
import { serviceAccountsOf } from "./service-account-flags.ts"
import { givenCertificatesOf, tlsProfileIn } from "./tls-flags.ts"
import { nodeLifecycleOf } from "./node-lifecycle-flags.ts"
import { inFlightOf, SIMULATED, type NodeFlags, type ServerFlags } from "./server-flags.ts"

/** A store that belongs to this server and to those that join it. */
export interface OwnSharedStore {
  readonly datastore: DatastoreConfig
  /** Returns what a server needs that joins, as JSON. */
  readonly invite: () => Promise<string>
}

/** `scheduling` is what the flags of the scheduler name (scheduler-flags.ts). */
export function clusterConfig(
  flags: ServerFlags,
  network: ClusterNetwork,
  own?: OwnSharedStore,
  scheduling?: Exclude<ClusterConfig["scheduler"], boolean>,
): ClusterConfig {
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
      audit: auditOf(flags),
      ...signInOf(flags),
      admission: admissionOf(flags),
      tolerationSeconds: tolerationSecondsOf(flags),
      ...authorizationOf(flags),
      ...furtherAuthoritiesOf(flags),
      ...serviceAccountsOf(flags),
      tlsProfile: tlsProfileIn(flags),
      ...givenCertificatesOf(flags),
      historyMs: flags["history-age"] * 1000,
      historyBytes: flags["history-size"] ?? usualHistoryBytes(dataDir),
      eventSeconds: flags["event-ttl"],
      acceptDataLoss: flags["accept-data-loss"],
      ...(datastore === undefined ? {} : sharedStore(flags, datastore)),
      encryption: {
        secrets: flags["secrets-encryption"],
        provider: flags["secrets-encryption-provider"],
        file: flags["encryption-provider-config"],
        isReloaded: flags["encryption-provider-config-automatic-reload"],
      },
      optionalKinds: servedOptionalKinds(flags["runtime-config"], flags["feature-gates"]),
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
          simulatedVolumes: flags["container-runtime-endpoint"] === SIMULATED ? { except: [] } : false,
          disabled: new Set(disable.includes("servicelb") ? ["service-lb-controller"] : []),
          occupiedPorts: occupiedPorts(flags),
          nodeLifecycle: nodeLifecycleOf(flags),
          ...controllersOf(flags),
        },
    scheduler: disable.includes("scheduler") ? false : { ...scheduling, host: nodeNameOf(flags) },
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
    helmCharts: !disable.includes("helm-controller"),
    metricsServer: !disable.includes("metrics-server"),
    ...(disable.includes("manifests")
      ? {}
      : {
          deployer: {
            folder: manifestFolder(join(dataDir, "server/manifests"), realClock),
            embedded: embeddedManifests(flags, network),
            besideOthers: datastore !== undefined,
            showsAddons: true,
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

export const nodeNameOf = (flags: Pick<NodeFlags, "node-name">): string => flags["node-name"] ?? defaultNodeName()

/** The names and the port of this node's kubelet. */
export const kubeletNames = (flags: NodeFlags & Pick<ServerFlags, "cluster-cidr">): KubeletNames => ({
  nodeName: nodeNameOf(flags),
  nodeIps: nodeIps(flags),
  // Several simulated nodes may run beside each other, and beside a real node.
  kubeletPort: flags["kubelet-port"] ?? (flags["container-runtime-endpoint"] === SIMULATED ? 0 : KUBELET_PORT),
})

/** Whether Ingresses are served, or Gateways: they need a real node. */
export const serves = (part: "ingress" | "gateway", flags: ServerFlags): boolean =>
  !flags.disable.includes(part) && !flags["disable-agent"] && flags["container-runtime-endpoint"] !== SIMULATED
export const servesIngresses = (flags: ServerFlags): boolean => serves("ingress", flags)

/** Returns the ports on which this machine listens: load balancers must not take their traffic. */
const occupiedPorts = (flags: ServerFlags): OccupiedPorts => ({
  always: new Map(
    [...ownPortsOfNode(flags), ...ownPortsOfControlPlane(flags)].map(({ port, protocol, holder }) => [
      `${port}/${protocol}`,
      holder,
    ]),
  ),
  ...(servesIngresses(flags)
    ? { ingress: [`${flags["ingress-http-port"]}/TCP`, `${flags["ingress-https-port"]}/TCP`] }
    : {}),
})

export const nodeIps = (flags: Pick<ServerFlags, "node-ip" | "cluster-cidr">): readonly string[] =>
  flags["node-ip"].length > 0 ? flags["node-ip"] : defaultNodeIps(flags["cluster-cidr"].map(familyOf))

/** Returns the address on which the API server listens. A socket of `::` takes connections of IPv4 too. */
export const bindAddress = (flags: Pick<ServerFlags, "bind-address" | "cluster-cidr">): string =>
  flags["bind-address"] ?? (hasIPv6(flags) ? "::" : "0.0.0.0")
