/**
 * What becomes of each field of a KubeletConfiguration: a setting of `--kubelet-arg`, a flag of k3ts, or nothing, for a
 * reason. Most fields are flags of the kubelet too, and mean the same as those (k3s/kubelet-args.ts). Source of the
 * defaults: pkg/kubelet/apis/config/v1beta1/defaults.go.
 */
import { KUBELET_FLAGS } from "../../k3s/kubelet-args.ts"
import type { UpstreamFlag } from "../../k3s/upstream-arg.ts"

export type Meaning =
  /** The setting of `--kubelet-arg` that does the same. */
  | { readonly setting: string }
  /** The flag of k3ts that does the same. */
  | { readonly flag: string }
  /** What it does here, where no flag does the same (read.ts). */
  | { readonly own: string }
  /** As that flag of Kubernetes' kubelet. Values that upstream has anyway are accepted without a word. */
  | { readonly like: Exclude<UpstreamFlag, { readonly done: string }>; readonly usual: readonly unknown[] }

const setting = (name: string): Meaning => ({ setting: name })
const flag = (name: string): Meaning => ({ flag: name })
const own = (what: string): Meaning => ({ own: what })
/** As the kubelet's flag `name`. */
function like(name: string, ...usual: readonly unknown[]): Meaning {
  const found = KUBELET_FLAGS[name]
  if (found === undefined || "done" in found) throw new Error(`the flag ${name} of the kubelet does nothing else here`)
  return { like: found, usual }
}
const idle = (why: string, ...usual: readonly unknown[]): Meaning => ({ like: { idle: why }, usual })
const refused = (why: string, ...usual: readonly unknown[]): Meaning => ({ like: { refused: why }, usual })
const only = (value: string, why: string): Meaning => ({ like: { holds: [value], why }, usual: [] })

const NO_SHUTDOWN = "pods end when the node is drained: a shutdown of the machine is not delayed"
const NO_LOG_TUNING = "the log is one of the whole process, and written at once"
const NO_CREDENTIALS_CHECK = "images that are on the node may be used by all its pods: see the policy AlwaysPullImages"

/** By the path of the field. */
export const MEANINGS: Readonly<Record<string, Meaning>> = {
  // What is served, and to whom.
  address: like("address"),
  port: flag("kubelet-port"),
  enableServer: like("enable-server"),
  readOnlyPort: like("read-only-port"),
  healthzPort: like("healthz-port", 10248),
  healthzBindAddress: like("healthz-bind-address", "127.0.0.1"),
  tlsCertFile: like("tls-cert-file"),
  tlsPrivateKeyFile: like("tls-private-key-file"),
  tlsCipherSuites: setting("tls-cipher-suites"),
  tlsCurvePreferences: like("tls-curve-preferences"),
  tlsMinVersion: setting("tls-min-version"),
  rotateCertificates: like("rotate-certificates"),
  serverTLSBootstrap: idle("the kubelet asks the cluster for its certificates always"),
  "authentication.x509.clientCAFile": idle("clients of the kubelet are known by the cluster's authority"),
  "authentication.webhook.enabled": like("authentication-token-webhook", true),
  "authentication.webhook.cacheTTL": like("authentication-token-webhook-cache-ttl", "2m0s"),
  "authentication.anonymous.enabled": like("anonymous-auth"),
  "authorization.mode": like("authorization-mode"),
  "authorization.webhook.cacheAuthorizedTTL": like("authorization-webhook-cache-authorized-ttl", "5m0s"),
  "authorization.webhook.cacheUnauthorizedTTL": like("authorization-webhook-cache-unauthorized-ttl", "30s"),
  enableDebuggingHandlers: like("enable-debugging-handlers"),
  enableSystemLogHandler: idle("the logs of a node are not served", true),
  enableSystemLogQuery: only("false", "the logs of a node are not served"),
  enableProfilingHandler: idle("profiles are those of the whole process, at /debug/pprof of the API server", true),
  enableDebugFlagsHandler: idle("how much is logged is said at the start: see --v", true),
  enableContentionProfiling: like("contention-profiling", false),
  streamingConnectionIdleTimeout: like("streaming-connection-idle-timeout", "4h0m0s"),
  // The node.
  registerNode: like("register-node"),
  registerWithTaints: flag("node-taint"),
  providerID: like("provider-id"),
  podCIDR: like("pod-cidr"),
  maxPods: setting("max-pods"),
  podsPerCore: setting("pods-per-core"),
  podPidsLimit: setting("pod-max-pids"),
  nodeStatusUpdateFrequency: setting("node-status-update-frequency"),
  nodeStatusReportFrequency: idle("the status is sent when it has changed, and every five minutes", "5m0s"),
  nodeStatusMaxImages: like("node-status-max-images", 50),
  nodeLeaseDurationSeconds: refused("a node that is silent for 40 seconds has failed, whatever its lease says", 40),
  clusterDNS: flag("cluster-dns"),
  clusterDomain: flag("cluster-domain"),
  resolvConf: flag("resolv-conf"),
  featureGates: flag("feature-gates"),
  // Pods and their files.
  staticPodPath: setting("pod-manifest-path"),
  staticPodURL: like("manifest-url"),
  staticPodURLHeader: like("manifest-url-header"),
  fileCheckFrequency: like("file-check-frequency", "20s"),
  httpCheckFrequency: like("http-check-frequency", "20s"),
  syncFrequency: setting("sync-frequency"),
  configMapAndSecretChangeDetectionStrategy: idle("ConfigMaps and Secrets are watched", "Watch"),
  podLogsDir: refused("logs of pods are where log collectors look for them", "/var/log/pods"),
  containerLogMaxSize: setting("container-log-max-size"),
  containerLogMaxFiles: setting("container-log-max-files"),
  containerLogMaxWorkers: idle("logs are rotated one after the other", 1),
  containerLogMonitorInterval: idle("logs are measured every ten seconds", "10s"),
  volumePluginDir: like("volume-plugin-dir", "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"),
  enableControllerAttachDetach: like("enable-controller-attach-detach"),
  localStorageCapacityIsolation: like("local-storage-capacity-isolation"),
  seccompDefault: setting("seccomp-default"),
  allowedUnsafeSysctls: setting("allowed-unsafe-sysctls"),
  "userNamespaces.idsPerPod": only("65536", "a pod in a user namespace of its own has 65536 ids"),
  "crashLoopBackOff.maxContainerRestartPeriod": own("the longest wait of a container that crashes, 1s to 5m"),
  shutdownGracePeriod: refused(NO_SHUTDOWN),
  shutdownGracePeriodCriticalPods: refused(NO_SHUTDOWN),
  shutdownGracePeriodByPodPriority: refused(NO_SHUTDOWN),
  // Images and the runtime.
  containerRuntimeEndpoint: flag("container-runtime-endpoint"),
  imageServiceEndpoint: like("image-service-endpoint"),
  runtimeRequestTimeout: like("runtime-request-timeout", "2m0s"),
  imageMinimumGCAge: setting("minimum-image-ttl-duration"),
  imageMaximumGCAge: like("image-maximum-gc-age"),
  imageGCHighThresholdPercent: setting("image-gc-high-threshold"),
  imageGCLowThresholdPercent: setting("image-gc-low-threshold"),
  serializeImagePulls: setting("serialize-image-pulls"),
  maxParallelImagePulls: setting("max-parallel-image-pulls"),
  registryPullQPS: like("registry-qps", 5),
  registryBurst: like("registry-burst", 10),
  imagePullCredentialsVerificationPolicy: refused(NO_CREDENTIALS_CHECK, "NeverVerify"),
  preloadedImagesVerificationAllowlist: refused(NO_CREDENTIALS_CHECK),
  // Resources of the node, and of pods.
  evictionHard: setting("eviction-hard"),
  evictionSoft: setting("eviction-soft"),
  evictionSoftGracePeriod: setting("eviction-soft-grace-period"),
  evictionPressureTransitionPeriod: setting("eviction-pressure-transition-period"),
  evictionMaxPodGracePeriod: setting("eviction-max-pod-grace-period"),
  evictionMinimumReclaim: setting("eviction-minimum-reclaim"),
  mergeDefaultEvictionSettings: own("whether the default thresholds stay beside those of `evictionHard`"),
  kubeReserved: setting("kube-reserved"),
  systemReserved: setting("system-reserved"),
  kubeReservedCgroup: like("kube-reserved-cgroup"),
  systemReservedCgroup: like("system-reserved-cgroup"),
  enforceNodeAllocatable: like("enforce-node-allocatable", ["pods"]),
  reservedSystemCPUs: like("reserved-cpus"),
  reservedMemory: like("reserved-memory"),
  qosReserved: like("qos-reserved"),
  cgroupDriver: like("cgroup-driver"),
  cgroupRoot: like("cgroup-root"),
  cgroupsPerQOS: like("cgroups-per-qos"),
  kubeletCgroups: like("kubelet-cgroups"),
  systemCgroups: like("system-cgroups"),
  failCgroupV1: like("fail-cgroupv1"),
  cpuManagerPolicy: like("cpu-manager-policy"),
  cpuManagerPolicyOptions: like("cpu-manager-policy-options"),
  cpuManagerReconcilePeriod: like("cpu-manager-reconcile-period", "10s"),
  memoryManagerPolicy: like("memory-manager-policy"),
  topologyManagerPolicy: like("topology-manager-policy"),
  topologyManagerPolicyOptions: like("topology-manager-policy-options"),
  topologyManagerScope: like("topology-manager-scope", "container"),
  cpuCFSQuota: like("cpu-cfs-quota"),
  cpuCFSQuotaPeriod: like("cpu-cfs-quota-period"),
  failSwapOn: like("fail-swap-on"),
  "memorySwap.swapBehavior": only("NoSwap", "containers get no swap"),
  memoryThrottlingFactor: refused("memory of containers is limited, not throttled before", 0.9),
  memoryReservationPolicy: only("None", "memory of containers is limited, not reserved by the kernel"),
  singleProcessOOMKill: only("false", "all processes of a container end with the one that the kernel ends"),
  kernelMemcgNotification: like("kernel-memcg-notification", false),
  volumeStatsAggPeriod: like("volume-stats-agg-period", "1m0s"),
  // The process.
  oomScoreAdj: like("oom-score-adj", -999),
  maxOpenFiles: like("max-open-files", 1_000_000),
  runOnce: like("runonce"),
  protectKernelDefaults: like("protect-kernel-defaults", false),
  makeIPTablesUtilChains: like("make-iptables-util-chains", true),
  iptablesMasqueradeBit: idle("rules of the kubelet mark no packets", 14),
  iptablesDropBit: idle("rules of the kubelet mark no packets", 15),
  hairpinMode: like("hairpin-mode", "promiscuous-bridge"),
  contentType: like("kube-api-content-type", "application/vnd.kubernetes.protobuf"),
  kubeAPIQPS: like("kube-api-qps", 50),
  kubeAPIBurst: like("kube-api-burst", 100),
  eventRecordQPS: like("event-qps", 50),
  eventBurst: like("event-burst", 100),
  "logging.format": flag("log-format"),
  "logging.verbosity": flag("v"),
  "logging.flushFrequency": idle(NO_LOG_TUNING, "5s", 5_000_000_000),
  "logging.vmodule": idle(NO_LOG_TUNING),
  "logging.options": idle(NO_LOG_TUNING),
  showHiddenMetricsForVersion: idle("no metrics are hidden"),
  "tracing.endpoint": refused("spans of the whole process are sent to one place: see --tracing-config-file"),
  "tracing.samplingRatePerMillion": refused(
    "spans of the whole process are sent to one place: see --tracing-config-file",
  ),
}
