import { formatQuantity, fromUnits } from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { KubeletConfig } from "../context.ts"
import { tuningOf } from "../tuning.ts"
import { DURATION_SECONDS } from "../node/lease.ts"
import { REPORT_MS } from "../node/node.ts"
import { THRESHOLDS } from "../node/pressure.ts"

/** What holds here of what a KubeletConfiguration can say. Source: k8s.io/kubelet config/v1beta1/types.go. */
export const kubeletConfiguration = (config: KubeletConfig, port: number) => ({
  kind: "KubeletConfiguration",
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  staticPodPath: config.staticPods,
  port,
  clusterDomain: config.clusterDomain,
  clusterDNS: config.clusterDns,
  resolvConf: config.resolvConf,
  podLogsDir: config.podLogs,
  maxPods: config.maxPods,
  cgroupDriver: config.cgroupDriver,
  cgroupsPerQOS: true,
  cgroupRoot: "/",
  enforceNodeAllocatable: [],
  failSwapOn: false,
  registerNode: true,
  syncFrequency: duration(config.syncFrequencyMs),
  nodeStatusUpdateFrequency: duration(tuningOf(config).measureMs),
  nodeStatusReportFrequency: minutes(REPORT_MS),
  nodeLeaseDurationSeconds: DURATION_SECONDS,
  containerLogMaxSize: formatQuantity(fromUnits(tuningOf(config).containerLogMaxBytes, "BinarySI")),
  containerLogMaxFiles: tuningOf(config).containerLogMaxFiles,
  serializeImagePulls: false,
  enableServer: port > 0,
  enableDebuggingHandlers: true,
  enableSystemLogHandler: true,
  evictionHard: {
    "memory.available": `${THRESHOLDS.memoryBytes / 2 ** 20}Mi`,
    "nodefs.available": percent(THRESHOLDS.diskFraction),
    "nodefs.inodesFree": percent(THRESHOLDS.inodesFraction),
    "pid.available": percent(THRESHOLDS.pidFraction),
  },
})

const seconds = (ms: number): string => `${ms / 1000}s`
/** As Go prints it: `1m0s`. */
const duration = (ms: number): string =>
  ms < 60_000 ? seconds(ms) : `${Math.floor(ms / 60_000)}m${seconds(ms % 60_000)}`
const minutes = (ms: number): string => `${ms / 60_000}m0s`
const percent = (fraction: number): string => `${fraction * 100}%`
