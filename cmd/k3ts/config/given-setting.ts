import type { KubeletTuning } from "../../../components/kubelet/model/tuning.ts"
import type { GivenTuning } from "./kubelet-tuning.ts"

/** A setting of the kubelet as it was given, by `--kubelet-arg` or in a KubeletConfiguration. */
export interface GivenSetting
  extends
    Partial<
      Pick<
        KubeletTuning,
        | "measureMs"
        | "containerLogMaxBytes"
        | "containerLogMaxFiles"
        | "podMaxPids"
        | "seccompDefault"
        | "unsafeSysctls"
      >
    >,
    GivenTuning {
  /** The name of a flag of an upstream kubelet that means nothing here. */
  readonly withoutEffect?: string
  readonly maxPods?: number
  readonly podsPerCore?: number
  readonly syncFrequencyMs?: number
  readonly kubeletRoot?: string
  readonly staticPods?: string
  readonly tlsVersion?: string
  readonly tlsSuites?: readonly string[]
  /** The longest wait of a container that crashes, in milliseconds. */
  readonly longestCrashMs?: number
  /** A file with a KubeletConfiguration, and a folder of files that are merged over it. Their settings count less. */
  readonly configFile?: string
  readonly configFolder?: string
}
