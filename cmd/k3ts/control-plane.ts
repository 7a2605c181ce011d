import { join } from "node:path"
import { createApiServer, type ApiServer } from "../../components/apiserver/apiserver.ts"
import { createControllerManager } from "../../components/controller-manager/controller-manager.ts"
import { createDeployer } from "../../components/deployer/deployer.ts"
import { manifestFolder } from "../../components/deployer/folder.ts"
import { createScheduler } from "../../components/scheduler/scheduler.ts"
import type { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { signLegacyToken } from "../../pkg/jwt/legacy-token.ts"
import { createClients, informersOf, type Clients, type Context } from "./context.ts"
import { embeddedManifests } from "./embedded-manifests.ts"
import { defaultNodeIp } from "./host.ts"
import type { Part } from "../../components/cluster/lifecycle.ts"
import { controllerMetrics, schedulerMetrics } from "./metrics.ts"
import { SIMULATED, type ServerFlags } from "./server-flags.ts"

export interface ControlPlaneOptions {
  readonly context: Context
  readonly flags: ServerFlags
  readonly nodes: NodeConnectors
  readonly clusterDns: string
}

export interface ControlPlaneParts {
  readonly apiServer: ApiServer
  readonly clients: Clients
  readonly parts: readonly Part[]
}

/** The API server, and the components that meet in it and run wherever it does. */
export function controlPlaneParts({ context, flags, nodes, clusterDns }: ControlPlaneOptions): ControlPlaneParts {
  const { clock, random, log } = context
  const { disable, "feature-gates": features } = flags
  const apiServer = createApiServer(
    { clock, random, log },
    {
      dataDir: flags["data-dir"],
      listen: { host: flags["bind-address"], port: flags["https-listen-port"] },
      advertiseAddress: flags["advertise-address"] ?? flags["node-ip"][0] ?? defaultNodeIp(),
      tlsSans: flags["tls-san"],
      serviceCidr: flags["service-cidr"],
      nodePorts: flags["service-node-port-range"],
      clusterDomain: flags["cluster-domain"],
      kubeconfig: { path: flags["write-kubeconfig"], mode: flags["write-kubeconfig-mode"] },
      ...(flags["audit-log-path"] === undefined ? {} : { auditLogPath: flags["audit-log-path"] }),
      historyMs: flags["history-age"] * 1000,
      historyBytes: flags["history-size"],
      acceptDataLoss: flags["accept-data-loss"],
      nodes,
      features,
      maxInFlight: { reads: flags["max-requests-inflight"], writes: flags["max-mutating-requests-inflight"] },
      requestTimeoutMs: flags["request-timeout"] * 1000,
      connectionLimits: {
        headMs: flags["read-header-timeout"] * 1000,
        idleMs: flags["idle-timeout"] * 1000,
        unreadMs: flags["request-timeout"] * 1000,
      },
    },
  )
  const clients = createClients(context, apiServer)
  const parts: Part[] = [
    { component: apiServer, after: [] },
    { component: informersOf(clients), after: ["apiserver"] },
  ]
  if (!disable.includes("controller-manager")) {
    const component = createControllerManager(clients.contextFor({ name: "system:kube-controller-manager" }), {
      resources: () => apiServer.scheme.resources,
      onResources: (listener) => apiServer.scheme.subscribe(listener),
      resourceOf: (apiVersion, kind) => apiServer.scheme.of(apiVersion, kind),
      caPem: () => apiServer.files!.pki.authorities["server-ca"].certPem,
      signToken: (request) => signLegacyToken(apiServer.files!.signingKey, request),
      clusterCidr: flags["cluster-cidr"],
      simulatedVolumes: flags["container-runtime-endpoint"] === SIMULATED,
      features,
      clientFor: (account) => clients.accountClient(account),
      observer: controllerMetrics(apiServer.metrics),
    })
    parts.push({ component, after: ["informers"] })
  }
  if (!disable.includes("scheduler"))
    parts.push({
      component: createScheduler(clients.contextFor({ name: "system:kube-scheduler" }), {
        observer: schedulerMetrics(apiServer.metrics),
      }),
      after: ["informers"],
    })
  if (!disable.includes("manifests")) {
    // It applies whatever the administrator has laid down, so it is one.
    const component = createDeployer(clients.contextFor({ name: "system:k3ts-deployer", groups: ["system:masters"] }), {
      folder: manifestFolder(join(flags["data-dir"], "server/manifests")),
      embedded: embeddedManifests(flags, { CLUSTER_DNS: clusterDns, CLUSTER_DOMAIN: flags["cluster-domain"] }),
      resourceOf: (apiVersion, kind) => apiServer.scheme.of(apiVersion, kind),
    })
    parts.push({ component, after: ["informers"] })
  }
  return { apiServer, clients, parts }
}
