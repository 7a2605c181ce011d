/** The fields of a KubeSchedulerConfiguration. Source: kube-scheduler config/v1 types.go; defaults.go. */
import { f, message, type ObjectOf } from "../../../pkg/apimachinery/fields.ts"

const PACKAGE = "io.k8s.kube-scheduler.config.v1"

const Plugin = message(`${PACKAGE}.Plugin`, "A plugin.", {
  name: f.string(1, "Name of the plugin.").required(),
  weight: f.int32(2, "Weight of its score; 1 unless given."),
})
export interface PluginEntry extends ObjectOf<typeof Plugin> {}

const PluginSet = message(`${PACKAGE}.PluginSet`, "Plugins of one extension point.", {
  enabled: f.list(1, Plugin, "Plugins that run beside those by default, after them and in this order."),
  disabled: f.list(2, Plugin, "Plugins by default that do not run; `*` for all."),
})
export interface PluginSet extends ObjectOf<typeof PluginSet> {}

const Plugins = message(`${PACKAGE}.Plugins`, "Which plugins run, by extension point.", {
  preEnqueue: f.message(1, PluginSet, "Before a pod enters the queue."),
  queueSort: f.message(2, PluginSet, "Which pod is scheduled first."),
  preFilter: f.message(3, PluginSet, "Before nodes are filtered."),
  filter: f.message(4, PluginSet, "Which nodes fit."),
  postFilter: f.message(5, PluginSet, "When no node fits."),
  preScore: f.message(6, PluginSet, "Before nodes are ranked."),
  score: f.message(7, PluginSet, "Which node fits best."),
  reserve: f.message(8, PluginSet, "When a pod has its node."),
  permit: f.message(9, PluginSet, "Whether the pod may be bound."),
  preBind: f.message(10, PluginSet, "Before the pod is bound."),
  bind: f.message(11, PluginSet, "Binds the pod."),
  postBind: f.message(12, PluginSet, "After the pod was bound."),
  multiPoint: f.message(13, PluginSet, "All extension points of a plugin."),
  placementGenerate: f.message(14, PluginSet, "Where a group of pods may be placed."),
  placementScore: f.message(15, PluginSet, "Which of these places is the best one."),
})
export interface PluginSets extends ObjectOf<typeof Plugins> {}

const PluginConfig = message(`${PACKAGE}.PluginConfig`, "Arguments of a plugin.", {
  name: f.string(1, "Name of the plugin.").required(),
  args: f.extension(2, "The arguments; their kind is the plugin's name and Args."),
})

const Profile = message(`${PACKAGE}.KubeSchedulerProfile`, "One scheduler.", {
  schedulerName: f.string(1, "The schedulerName of the pods to schedule."),
  percentageOfNodesToScore: f.int32(2, "See percentageOfNodesToScore of the configuration."),
  plugins: f.message(3, Plugins, "Which plugins run beside those by default, or do not run."),
  pluginConfig: f.list(4, PluginConfig, "Arguments of plugins."),
})
export interface KubeSchedulerProfile extends ObjectOf<typeof Profile> {}

const TLSConfig = message(`${PACKAGE}.ExtenderTLSConfig`, "How an extender is trusted.", {
  insecure: f.bool(1, "Do not check the extender's certificate.").default(false),
  serverName: f.string(2, "The name in the extender's certificate; that of the URL unless given."),
  certFile: f.string(3, "File of the certificate that the scheduler shows."),
  keyFile: f.string(4, "File of its key."),
  caFile: f.string(5, "File of the authorities that sign the extender's certificate."),
  certData: f.bytes(6, "As certFile."),
  keyData: f.bytes(7, "As keyFile."),
  caData: f.bytes(8, "As caFile."),
})

const Extender = message(`${PACKAGE}.Extender`, "A server that decides about nodes too.", {
  urlPrefix: f.string(1, "URL in front of the verbs.").default(""),
  filterVerb: f.string(2, "Path that filters nodes.").default(""),
  preemptVerb: f.string(3, "Path that chooses pods to preempt.").default(""),
  prioritizeVerb: f.string(4, "Path that ranks nodes.").default(""),
  weight: f.int64(5, "Weight of these ranks.").default(0),
  bindVerb: f.string(6, "Path that binds a pod.").default(""),
  enableHTTPS: f.bool(7, "Whether the extender is asked over TLS.").default(false),
  tlsConfig: f.message(8, TLSConfig, "How the extender is trusted."),
  httpTimeout: f.duration(9, "Longest time for one answer; 5s unless given.").default("0s"),
  nodeCacheCapable: f.bool(10, "Whether the extender gets names of nodes only.").default(false),
  managedResources: f.list(
    11,
    message(`${PACKAGE}.ExtenderManagedResource`, "An extended resource that the extender manages.", {
      name: f.string(1, "Name of the resource.").required(),
      ignoredByScheduler: f.bool(2, "Whether NodeResourcesFit leaves the resource out.").default(false),
    }),
    "Only pods that ask for one of these resources are sent to the extender; all pods unless given.",
  ),
  ignorable: f.bool(12, "Whether pods are scheduled where the extender fails.").default(false),
})
export interface ExtenderConfig extends ObjectOf<typeof Extender> {}

const LeaderElection = message("io.k8s.component-base.LeaderElectionConfiguration", "Which scheduler is active.", {
  leaderElect: f.bool(1, "Whether one is elected.").pointer().default(true),
  leaseDuration: f.duration(2, "How long a lease is good.").default("15s"),
  renewDeadline: f.duration(3, "How long it is tried to renew the lease.").default("10s"),
  retryPeriod: f.duration(4, "Time between two attempts.").default("2s"),
  resourceLock: f.string(5, "Only leases.").default("leases"),
  resourceName: f.string(6, "Name of the Lease.").default("kube-scheduler"),
  resourceNamespace: f.string(7, "Its namespace.").default("kube-system"),
})

const ClientConnection = message("io.k8s.component-base.ClientConnectionConfiguration", "How the API is asked.", {
  kubeconfig: f.string(1, "A kubeconfig."),
  acceptContentTypes: f.string(2, "Formats of answers."),
  contentType: f.string(3, "Format of requests."),
  qps: f.double(4, "Requests in a second."),
  burst: f.int32(5, "Requests at once."),
})

export const KubeSchedulerConfiguration = message(`${PACKAGE}.KubeSchedulerConfiguration`, "Configures schedulers.", {
  parallelism: f.int32(1, "Threads of upstream's scheduler.").pointer().default(16),
  leaderElection: f.message(2, LeaderElection, "Which scheduler is active.").always(),
  clientConnection: f.message(3, ClientConnection, "How the API is asked.").always(),
  percentageOfNodesToScore: f.int32(4, "Part of the nodes that is found before the search ends, in percent."),
  podInitialBackoffSeconds: f.int64(5, "First wait of a pod that failed, in seconds.").pointer().default(1),
  podMaxBackoffSeconds: f.int64(6, "Its longest wait, in seconds.").pointer().default(10),
  profiles: f.list(7, Profile, "The schedulers."),
  extenders: f.list(8, Extender, "Servers that decide about nodes too."),
  delayCacheUntilActive: f.bool(9, "Whether informers wait for the election.").default(false),
  enableProfiling: f.bool(10, "Whether profiles are served.").pointer().default(true),
  enableContentionProfiling: f.bool(11, "Whether locks are profiled.").pointer().default(true),
})
export interface KubeSchedulerConfiguration extends ObjectOf<typeof KubeSchedulerConfiguration> {}
