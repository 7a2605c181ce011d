import type { TlsProfile } from "../../../pkg/runtime/http/tls-profile.ts"
import { CRASH_BACKOFF, type BackoffLimits } from "./backoff.ts"
import { DEFAULT_HARD, type SoftThresholds, type Thresholds } from "./thresholds.ts"

/** When pods are evicted. */
export interface EvictionTuning {
  readonly hard: Thresholds
  readonly soft: SoftThresholds
  /** Longest grace of a pod that a soft threshold evicts. Source: evictionMaxPodGracePeriod. */
  readonly mostGraceSeconds: number
  /** How long a condition of the node stays after the pressure. Source: evictionPressureTransitionPeriod. */
  readonly transitionMs: number
}

/** What pods may not have of the node. */
export interface Reserved {
  readonly cpuMilli: number
  readonly memoryBytes: number
  readonly diskBytes: number
}

/** Settings of a kubelet that few clusters change. Source: k8s.io/kubelet config/v1beta1/types.go. */
export interface KubeletTuning {
  /**
   * Interval in which memory, disk, processes and the runtime are checked, in milliseconds. A changed status is written
   * at once. Source: nodeStatusUpdateFrequency.
   */
  readonly measureMs: number
  /** Size at which a container's log is rotated, in bytes. */
  readonly containerLogMaxBytes: number
  /** How many files of one container's log there are at most, at least 2. */
  readonly containerLogMaxFiles: number
  readonly eviction: EvictionTuning
  readonly reserved: Reserved
  /** How much more than its threshold is freed of a resource, by the signal. Source: evictionMinimumReclaim. */
  readonly minimumReclaim: Thresholds
  /** How long an unused image is kept, in milliseconds. Source: imageMinimumGCAge. */
  readonly imageMinAgeMs: number
  /** From which use of the disk unused images are removed, and until which, in percent; undefined: for pods only. */
  readonly imageGc: { readonly highPercent: number; readonly lowPercent: number } | undefined
  /** How many processes a pod may have; negative for any number, undefined for a part of the node's. */
  readonly podMaxPids: number | undefined
  /** How many images are pulled at once. */
  readonly mostPulls: number
  /** Whether containers without a seccomp profile get that of the runtime. Source: seccompDefault. */
  readonly seccompDefault: boolean
  /** Sysctls that pods may set although they are not safe; a name may end with `*`. Source: allowedUnsafeSysctls. */
  readonly unsafeSysctls: readonly string[]
  /** TLS of the kubelet's port; that of the library from TLS 1.2 on unless given. */
  readonly tlsProfile: TlsProfile | undefined
  /** How long a container that crashes again and again waits. */
  readonly crashes: BackoffLimits
}

/** Source: pkg/kubelet/apis/config/v1beta1/defaults.go. */
export const DEFAULT_TUNING: KubeletTuning = {
  measureMs: 10_000,
  containerLogMaxBytes: 10 * 2 ** 20,
  containerLogMaxFiles: 5,
  eviction: { hard: DEFAULT_HARD, soft: {}, mostGraceSeconds: 0, transitionMs: 300_000 },
  reserved: { cpuMilli: 0, memoryBytes: 0, diskBytes: 0 },
  minimumReclaim: {},
  imageMinAgeMs: 120_000,
  imageGc: undefined,
  podMaxPids: undefined,
  mostPulls: Infinity,
  seccompDefault: false,
  unsafeSysctls: [],
  tlsProfile: undefined,
  crashes: CRASH_BACKOFF,
}

/** Returns the settings of a kubelet, each by default where none is given. */
export const tuningOf = ({ tuning }: { readonly tuning?: Partial<KubeletTuning> | undefined }): KubeletTuning => ({
  ...DEFAULT_TUNING,
  ...tuning,
})
