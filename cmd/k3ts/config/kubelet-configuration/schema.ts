/** The fields of a KubeletConfiguration. Source: k8s.io/kubelet config/v1beta1/types.go. */
import { e, f, message, type ObjectOf } from "../../../../pkg/apimachinery/fields.ts"
import type { Message } from "../../../../pkg/apimachinery/field-spec.ts"

const PACKAGE = "io.k8s.kubelet.config.v1beta1"
const KIND = "What it means here stands in meanings.ts."

const text = (number: number) => f.string(number, KIND)
const whole = (number: number) => f.int64(number, KIND)
const isOn = (number: number) => f.bool(number, KIND)
const time = (number: number) => f.duration(number, KIND)
const texts = (number: number) => f.list(number, e.string, KIND)
const pairs = (number: number) => f.map(number, e.string, KIND)

const Authentication = message(`${PACKAGE}.KubeletAuthentication`, "Who may ask the kubelet.", {
  x509: f.message(1, message(`${PACKAGE}.KubeletX509Authentication`, KIND, { clientCAFile: text(1) }), KIND),
  webhook: f.message(
    2,
    message(`${PACKAGE}.KubeletWebhookAuthentication`, KIND, { enabled: isOn(1).pointer(), cacheTTL: time(2) }),
    KIND,
  ),
  anonymous: f.message(
    3,
    message(`${PACKAGE}.KubeletAnonymousAuthentication`, KIND, { enabled: isOn(1).pointer() }),
    KIND,
  ),
})

const Authorization = message(`${PACKAGE}.KubeletAuthorization`, "Who decides about requests.", {
  mode: text(1),
  webhook: f.message(
    2,
    message(`${PACKAGE}.KubeletWebhookAuthorization`, KIND, {
      cacheAuthorizedTTL: time(1),
      cacheUnauthorizedTTL: time(2),
    }),
    KIND,
  ),
})

const Taint = message(`${PACKAGE}.Taint`, "A taint of the new Node.", {
  key: text(1),
  value: text(2),
  effect: text(3),
  timeAdded: f.time(4, KIND),
})

const ReservedMemory = message(`${PACKAGE}.MemoryReservation`, KIND, {
  numaNode: whole(1),
  limits: f.map(2, e.quantity, KIND),
})

const ShutdownByPriority = message(`${PACKAGE}.ShutdownGracePeriodByPodPriority`, KIND, {
  priority: whole(1),
  shutdownGracePeriodSeconds: whole(2),
})

const Logging = message(`${PACKAGE}.LoggingConfiguration`, KIND, {
  format: text(1),
  flushFrequency: f.json(2, KIND),
  verbosity: whole(3),
  vmodule: f.json(4, KIND),
  options: f.json(5, KIND),
})

export const KubeletConfiguration = message(`${PACKAGE}.KubeletConfiguration`, "Configures a kubelet.", {
  enableServer: isOn(1).pointer(),
  staticPodPath: text(2),
  podLogsDir: text(3),
  syncFrequency: time(4),
  fileCheckFrequency: time(5),
  httpCheckFrequency: time(6),
  staticPodURL: text(7),
  staticPodURLHeader: f.json(8, KIND),
  address: text(9),
  port: whole(10),
  readOnlyPort: whole(11),
  tlsCertFile: text(12),
  tlsPrivateKeyFile: text(13),
  tlsCipherSuites: texts(14),
  tlsCurvePreferences: f.list(15, e.int32, KIND),
  tlsMinVersion: text(16),
  rotateCertificates: isOn(17),
  serverTLSBootstrap: isOn(18),
  authentication: f.message(19, Authentication, KIND),
  authorization: f.message(20, Authorization, KIND),
  registryPullQPS: whole(21).pointer(),
  registryBurst: whole(22),
  imagePullCredentialsVerificationPolicy: text(23),
  preloadedImagesVerificationAllowlist: texts(24),
  eventRecordQPS: whole(25).pointer(),
  eventBurst: whole(26),
  enableDebuggingHandlers: isOn(27).pointer(),
  enableContentionProfiling: isOn(28),
  healthzPort: whole(29).pointer(),
  healthzBindAddress: text(30),
  oomScoreAdj: whole(31).pointer(),
  clusterDomain: text(32),
  clusterDNS: texts(33),
  streamingConnectionIdleTimeout: time(34),
  nodeStatusUpdateFrequency: time(35),
  nodeStatusReportFrequency: time(36),
  nodeLeaseDurationSeconds: whole(37),
  imageMinimumGCAge: time(38),
  imageMaximumGCAge: time(39),
  imageGCHighThresholdPercent: whole(40).pointer(),
  imageGCLowThresholdPercent: whole(41).pointer(),
  volumeStatsAggPeriod: time(42),
  kubeletCgroups: text(43),
  systemCgroups: text(44),
  cgroupRoot: text(45),
  cgroupsPerQOS: isOn(46).pointer(),
  cgroupDriver: text(47),
  cpuManagerPolicy: text(48),
  singleProcessOOMKill: isOn(49).pointer(),
  cpuManagerPolicyOptions: pairs(50),
  cpuManagerReconcilePeriod: time(51),
  memoryManagerPolicy: text(52),
  topologyManagerPolicy: text(53),
  topologyManagerScope: text(54),
  topologyManagerPolicyOptions: pairs(55),
  qosReserved: pairs(56),
  runtimeRequestTimeout: time(57),
  hairpinMode: text(58),
  maxPods: whole(59),
  podCIDR: text(60),
  podPidsLimit: whole(61).pointer(),
  resolvConf: text(62).pointer(),
  runOnce: isOn(63),
  cpuCFSQuota: isOn(64).pointer(),
  cpuCFSQuotaPeriod: time(65).pointer(),
  nodeStatusMaxImages: whole(66).pointer(),
  maxOpenFiles: whole(67),
  contentType: text(68),
  kubeAPIQPS: whole(69).pointer(),
  kubeAPIBurst: whole(70),
  serializeImagePulls: isOn(71).pointer(),
  maxParallelImagePulls: whole(72).pointer(),
  evictionHard: pairs(73),
  evictionSoft: pairs(74),
  evictionSoftGracePeriod: pairs(75),
  evictionPressureTransitionPeriod: time(76),
  evictionMaxPodGracePeriod: whole(77),
  evictionMinimumReclaim: pairs(78),
  mergeDefaultEvictionSettings: isOn(79).pointer(),
  podsPerCore: whole(80),
  enableControllerAttachDetach: isOn(81).pointer(),
  protectKernelDefaults: isOn(82),
  makeIPTablesUtilChains: isOn(83).pointer(),
  iptablesMasqueradeBit: whole(84).pointer(),
  iptablesDropBit: whole(85).pointer(),
  featureGates: f.map(86, e.bool, KIND),
  failSwapOn: isOn(87).pointer(),
  memorySwap: f.message(88, message(`${PACKAGE}.MemorySwapConfiguration`, KIND, { swapBehavior: text(1) }), KIND),
  containerLogMaxSize: text(89),
  containerLogMaxFiles: whole(90).pointer(),
  containerLogMaxWorkers: whole(91).pointer(),
  containerLogMonitorInterval: time(92).pointer(),
  configMapAndSecretChangeDetectionStrategy: text(93),
  systemReserved: pairs(94),
  kubeReserved: pairs(95),
  reservedSystemCPUs: text(96),
  showHiddenMetricsForVersion: text(97),
  systemReservedCgroup: text(98),
  kubeReservedCgroup: text(99),
  enforceNodeAllocatable: texts(100),
  allowedUnsafeSysctls: texts(101),
  volumePluginDir: text(102),
  providerID: text(103),
  kernelMemcgNotification: isOn(104),
  logging: f.message(105, Logging, KIND),
  enableSystemLogHandler: isOn(106).pointer(),
  enableSystemLogQuery: isOn(107).pointer(),
  shutdownGracePeriod: time(108),
  shutdownGracePeriodCriticalPods: time(109),
  shutdownGracePeriodByPodPriority: f.list(110, ShutdownByPriority, KIND),
  crashLoopBackOff: f.message(
    111,
    message(`${PACKAGE}.CrashLoopBackOffConfig`, KIND, { maxContainerRestartPeriod: time(1).pointer() }),
    KIND,
  ),
  reservedMemory: f.list(112, ReservedMemory, KIND),
  enableProfilingHandler: isOn(113).pointer(),
  enableDebugFlagsHandler: isOn(114).pointer(),
  seccompDefault: isOn(115).pointer(),
  memoryThrottlingFactor: f.double(116, KIND).pointer(),
  memoryReservationPolicy: text(117),
  registerWithTaints: f.list(118, Taint, KIND),
  registerNode: isOn(119).pointer(),
  tracing: f.message(
    120,
    message(`${PACKAGE}.TracingConfiguration`, KIND, { endpoint: text(1), samplingRatePerMillion: whole(2) }),
    KIND,
  ),
  localStorageCapacityIsolation: isOn(121).pointer(),
  containerRuntimeEndpoint: text(122),
  imageServiceEndpoint: text(123),
  failCgroupV1: isOn(124).pointer(),
  userNamespaces: f.message(125, message(`${PACKAGE}.UserNamespaces`, KIND, { idsPerPod: whole(1).pointer() }), KIND),
})
export interface KubeletConfiguration extends ObjectOf<typeof KubeletConfiguration> {}

/** A field without fields of its own. A list or a map counts as one, whatever its items are. */
export interface Leaf {
  /** `authentication.x509.clientCAFile` */
  readonly path: string
  /** Whether its zero is a value, since Go has a pointer; any other zero means that the field is not set. */
  readonly isPointer: boolean
}

/** Returns the fields without fields of their own. */
export const leavesOf = (fields: Message["fields"], path = ""): readonly Leaf[] =>
  Object.entries(fields).flatMap(([name, { spec }]) =>
    spec.type.kind === "message"
      ? leavesOf(spec.type.message().fields, `${path}${name}.`)
      : [{ path: `${path}${name}`, isPointer: spec.pointer === true }],
  )
