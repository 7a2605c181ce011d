/** Settings of a kubelet that few clusters change. Source: k8s.io/kubelet config/v1beta1/types.go. */
export interface KubeletTuning {
  /**
   * Interval in which memory, disk, processes and the runtime are checked, in milliseconds. A changed status is written
   * at once. Source: nodeStatusUpdateFrequency.
   */
  readonly measureMs: number
  /** Size at which a container's log is put aside, in bytes. */
  readonly containerLogMaxBytes: number
  /** How many files of one container's log there are at most, at least 2. */
  readonly containerLogMaxFiles: number
}

/** Source: pkg/kubelet/apis/config/v1beta1/defaults.go. */
export const DEFAULT_TUNING: KubeletTuning = {
  measureMs: 10_000,
  containerLogMaxBytes: 10 * 2 ** 20,
  containerLogMaxFiles: 5,
}

/** Returns the settings of a kubelet, each by default where none is given. */
export const tuningOf = ({ tuning }: { readonly tuning?: Partial<KubeletTuning> | undefined }): KubeletTuning => ({
  ...DEFAULT_TUNING,
  ...tuning,
})
