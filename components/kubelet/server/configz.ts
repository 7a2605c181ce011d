import { formatQuantity, fromUnits } from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { KubeletConfig } from "../model/config.ts"
import { tuningOf, type KubeletTuning } from "../model/tuning.ts"
import { DURATION_SECONDS } from "../node/lease.ts"
import { REPORT_MS } from "../node/node.ts"
import { formatAmount, type Thresholds } from "../model/thresholds.ts"

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
  podPidsLimit: tuningOf(config).podMaxPids,
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
  serializeImagePulls: tuningOf(config).mostPulls === 1,
  ...(Number.isFinite(tuningOf(config).mostPulls) ? { maxParallelImagePulls: tuningOf(config).mostPulls } : {}),
  enableServer: port > 0,
  enableDebuggingHandlers: true,
  enableSystemLogHandler: true,
  ...evictionSettings(tuningOf(config)),
})

/** Without what is neither configured nor a default of upstream's. */
function evictionSettings({ eviction, imageGc, minimumReclaim }: KubeletTuning) {
  const soft = Object.entries(eviction.soft)
  return {
    evictionHard: formatted(eviction.hard),
    evictionPressureTransitionPeriod: duration(eviction.transitionMs),
    ...(soft.length === 0
      ? {}
      : {
          evictionSoft: formatted(Object.fromEntries(soft.map(([signal, { amount }]) => [signal, amount]))),
          evictionSoftGracePeriod: Object.fromEntries(soft.map(([signal, { graceMs }]) => [signal, duration(graceMs)])),
          evictionMaxPodGracePeriod: eviction.mostGraceSeconds,
        }),
    ...(Object.keys(minimumReclaim).length === 0 ? {} : { evictionMinimumReclaim: formatted(minimumReclaim) }),
    ...(imageGc === undefined
      ? {}
      : { imageGCHighThresholdPercent: imageGc.highPercent, imageGCLowThresholdPercent: imageGc.lowPercent }),
  }
}

const formatted = (thresholds: Thresholds): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(thresholds).map(([signal, amount]) => [signal, formatAmount(amount)]))

const seconds = (ms: number): string => `${ms / 1000}s`
/** As Go prints it: `1m0s`. */
const duration = (ms: number): string =>
  ms < 60_000 ? seconds(ms) : `${Math.floor(ms / 60_000)}m${seconds(ms % 60_000)}`
const minutes = (ms: number): string => `${ms / 60_000}m0s`
