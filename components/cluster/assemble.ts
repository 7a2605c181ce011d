/**
 * The composition root: creates the components that need no machine. `k3ts server` passes a data directory and the
 * system's clock, `k3ts/testing` a store in memory and a clock that the test moves; both get the same cluster. Nodes
 * join it: host-node.ts for this machine, simulated-node.ts for machines in memory.
 */
import { signRequest } from "../../pkg/pki/request/sign-request.ts"
import type { Transport } from "../../pkg/client/client.ts"
import type { Features } from "../../pkg/component/features.ts"
import { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { signLegacyToken } from "../../pkg/jwt/legacy-token.ts"
import type { OwnExtension } from "../apiserver/aggregator/extension-server.ts"
import type { ApiServerConfig } from "../apiserver/apiserver-config.ts"
import { createApiServer, type ApiServer } from "../apiserver/apiserver.ts"
import {
  createControllerManager,
  type ControllerManager,
  type ControllerManagerConfig,
} from "../controller-manager/controller-manager.ts"
import { GIT_VERSION } from "../../pkg/version/version.ts"
import { createHelmController } from "../helm-controller/helm-controller.ts"
import { createDeployer, type DeployerConfig } from "../deployer/deployer.ts"
import { METRICS_API_SERVICE } from "../metrics-server/api-service.ts"
import { createMetricsServer } from "../metrics-server/metrics-server.ts"
import { Tunnels } from "../supervisor/tunnel/tunnels.ts"
import { createScheduler, type Scheduler, type SchedulerConfig } from "../scheduler/scheduler.ts"
import { asUser, Clients, systemAccount, type Tools, type Identity } from "./clients.ts"
import { clusterSupervisor, type SupervisorConfig } from "./supervisor.ts"
import type { OrderedComponent } from "./lifecycle.ts"
import { controllerMetrics, schedulerMetrics } from "./metrics.ts"
import type { Component } from "../../pkg/component/component.ts"
import { ElectedPart } from "./elected-part.ts"
import { Part, type RunningPart } from "./part.ts"

export interface ClusterConfig {
  /**
   * Storage, addresses, limits and other settings that concern the API server only; those shared with other components
   * are below.
   */
  readonly apiServer: Omit<ApiServerConfig, "nodes" | "features" | "ownExtensions" | "beside">
  /** Feature gates. */
  readonly features: Features
  /** CIDR of the addresses of pods, or one of each family with the primary one first. */
  readonly clusterCidrs: readonly string[]
  /** The prefix length of each node's part of the range of `clusterCidrs` at the same place. */
  readonly nodeMasks: readonly number[]
  /** The controllers, or false for none. `disabled`: names of those that are not to run. */
  readonly controllers:
    | false
    | Pick<
        ControllerManagerConfig,
        | "simulatedVolumes"
        | "disabled"
        | "autoscalerSyncMs"
        | "occupiedPorts"
        | "nodeLifecycle"
        | "keptEndedPods"
        | "longestCertificateMs"
      >
  /** The scheduler, or false for none. */
  readonly scheduler: boolean | Omit<SchedulerConfig, "observer">
  /** Whether this process serves the metrics API. */
  readonly metricsServer: boolean
  /** Applies the manifests of a folder; undefined for none. */
  readonly deployer?: Omit<DeployerConfig, "resourceOf">
  /** Whether HelmCharts are installed. */
  readonly helmCharts?: boolean
  /** Lets other machines join; undefined where none may. */
  readonly supervisor?: SupervisorConfig
  /** Whether kubelets on other machines are reached through the tunnels that their agents open; true unless given. */
  readonly usesTunnels?: boolean
  /**
   * The name of this server in elections, where several servers share the store: controllers and scheduler run in one
   * of them at a time. They always run unless given.
   */
  readonly candidate?: string
  /** Where kubelets register how their pods can be reached; a place of its own unless given. */
  readonly connectors?: NodeConnectors
  /** Wraps the transport of each component; test clusters count what is left open. */
  readonly around?: (transport: Transport, user: string) => Transport
}

/**
 * A cluster whose components are created but not started. The API server must be started first, since the others need
 * it.
 */
export interface AssembledCluster {
  readonly apiServer: ApiServer
  readonly clients: Clients
  /** Where kubelets register how their pods can be reached. */
  readonly connectors: NodeConnectors
  readonly controllerManager: RunningPart<ControllerManager> | undefined
  readonly scheduler: RunningPart<Scheduler> | undefined
  readonly deployer: Part | undefined
  readonly helmController: RunningPart<Component> | undefined
}

/** Charts have objects of any kind, and whoever may write HelmCharts is an administrator. */
const HELM_USER: Identity = { name: "system:k3ts-helm-controller", groups: ["system:masters"] }

/** Creates the components of a cluster. Starts nothing. */
export function assemble(tools: Tools, config: ClusterConfig): AssembledCluster {
  const { clusterCidrs, nodeMasks, controllers, features, around = (transport) => transport } = config
  const { connectors = new NodeConnectors() } = config
  const tunnels = new Tunnels(tools)
  const metrics: OwnExtension = { apiService: METRICS_API_SERVICE, answer: (request) => metricsServer(request) }
  const apiServer: ApiServer = createApiServer(tools, {
    ...config.apiServer,
    nodes: connectors,
    features,
    helm: config.helmCharts === true,
    addons: config.deployer?.showsAddons === true,
    ownExtensions: config.metricsServer ? [metrics] : [],
    ...(config.supervisor === undefined
      ? {}
      : {
          beside: clusterSupervisor(tools, () => ({ apiServer, clients, tunnels }), config.supervisor),
          tunnelTo: (node) => (config.usesTunnels === false ? undefined : tunnels.to(node)),
        }),
  })
  const clients = new Clients(tools, (user) => around(apiServer.transportFor(user), user.name))
  const metricsServer = createMetricsServer({
    client: clients.clientFor(systemAccount("k3ts-metrics-server")),
    connectors,
    clock: tools.clock,
  })
  const observers = {
    controllers: controllerMetrics(apiServer.metrics, tools.clock),
    scheduler: schedulerMetrics(apiServer.metrics),
  }
  const resourceOf = (apiVersion: string, kind: string) =>
    apiServer.scheme.of(apiVersion, kind) ??
    apiServer.remoteKinds.resources.find((one) => one.apiVersion === apiVersion && one.kind === kind)

  /** Returns a part that always runs, or one that runs while this server is elected. */
  const running = <C extends Component>(
    lease: string,
    name: string,
    partOf: (clients: Clients) => Part<C>,
    user: Identity = { name: `system:${lease}` },
  ) => {
    const { candidate } = config
    if (candidate === undefined) return partOf(clients)
    return new ElectedPart({ name, lease, identity: candidate, clients, user, tools, part: partOf })
  }

  const controllerManager =
    controllers === false
      ? undefined
      : running(
          "kube-controller-manager",
          "controller-manager",
          (clients) =>
            new Part({
              name: "controller-manager",
              clients,
              user: { name: "system:kube-controller-manager" },
              create: (context) =>
                createControllerManager(context, {
                  ...controllers,
                  resources: () => apiServer.scheme.resources,
                  onResources: (listener) => apiServer.scheme.subscribe(listener),
                  resourceOf,
                  askMetrics: apiServer.askAggregated(asUser(systemAccount("horizontal-pod-autoscaler"))),
                  remote: apiServer.remoteKinds,
                  caPem: () => apiServer.files!.pki.authorities["server-ca"].certPem,
                  certify: (authority, request, options) =>
                    signRequest(apiServer.files!.pki.authorities[authority], request, options),
                  signToken: (request) => signLegacyToken(apiServer.files!.signingKey, request),
                  clusterCidrs,
                  nodeMasks,
                  features,
                  clientFor: (account) =>
                    clients.clientFor({ ...systemAccount(account), agent: "kube-controller-manager" }),
                  observer: observers.controllers,
                  metrics: apiServer.metrics,
                }),
            }),
        )
  const { scheduler: scheduling } = config
  const scheduler =
    scheduling !== false
      ? running(
          "kube-scheduler",
          "scheduler",
          (clients) =>
            new Part({
              name: "scheduler",
              clients,
              user: { name: "system:kube-scheduler" },
              create: (context) =>
                createScheduler(context, {
                  ...(features.GenericWorkload
                    ? {
                        podGroups: {
                          features,
                          isServed: () => resourceOf("scheduling.k8s.io/v1alpha2", "PodGroup") !== undefined,
                          load: async () =>
                            (await import("../scheduler/podgroup/pod-group-scheduler.ts")).createPodGroups,
                        },
                      }
                    : {}),
                  ...(scheduling === true ? {} : scheduling),
                  observer: observers.scheduler,
                }),
            }),
        )
      : undefined
  const { deployer: deployed } = config
  const deployer =
    deployed === undefined
      ? undefined
      : new Part({
          name: "deployer",
          clients,
          // The deployer applies any manifest of the administrator, so it has an administrator's rights.
          user: { name: "system:k3ts-deployer", groups: ["system:masters"] },
          create: (context) => createDeployer(context, { ...deployed, resourceOf }),
        })
  const helmController =
    config.helmCharts === true
      ? running(
          "k3ts-helm-controller",
          "helm-controller",
          (clients) =>
            new Part({
              name: "helm-controller",
              clients,
              user: HELM_USER,
              create: (context) =>
                createHelmController(context, {
                  resourceOf,
                  kubeVersion: GIT_VERSION,
                  apiVersions: () =>
                    [...apiServer.scheme.resources, ...apiServer.remoteKinds.resources].flatMap(
                      ({ apiVersion, kind }) => [apiVersion, `${apiVersion}/${kind}`],
                    ),
                }),
            }),
          HELM_USER,
        )
      : undefined
  return { apiServer, clients, connectors, controllerManager, scheduler, deployer, helmController }
}

/** Returns the components of a cluster, each after those that it needs; `before` has the names of what comes first. */
export function inOrder(cluster: AssembledCluster, before: readonly string[] = []): readonly OrderedComponent[] {
  const { apiServer, controllerManager, scheduler, deployer, helmController } = cluster
  const others = [controllerManager, scheduler, deployer, helmController].filter((part) => part !== undefined)
  return [
    { component: apiServer, after: before },
    ...others.map((component) => ({ component, after: [apiServer.name] })),
  ]
}
