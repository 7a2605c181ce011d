import { MAX_PODS, SYNC_FREQUENCY_MS } from "../../components/kubelet/context.ts"
import { duration, reading } from "./cli/values.ts"

/** The settings of the kubelet that can be chosen. */
export interface KubeletSettings {
  readonly maxPods: number
  readonly syncFrequencyMs: number
}

/** Flags of an upstream kubelet for which k3ts has a flag of its own. */
const FLAGS: ReadonlyMap<string, string> = new Map([
  ["cluster-dns", "cluster-dns"],
  ["cluster-domain", "cluster-domain"],
  ["container-runtime-endpoint", "container-runtime-endpoint"],
  ["feature-gates", "feature-gates"],
  ["hostname-override", "node-name"],
  ["node-ip", "node-ip"],
  ["node-labels", "node-label"],
  ["pod-infra-container-image", "pause-image"],
  ["port", "kubelet-port"],
  ["register-with-taints", "node-taint"],
  ["resolv-conf", "resolv-conf"],
])

/** `max-pods=250` or `sync-frequency=1m`, as k3s takes it. Source: k8s.io/kubelet config/v1beta1/types.go. */
export const kubeletArg = reading(
  (text): Partial<KubeletSettings> | undefined => {
    const [, name, given = ""] = /^(?:--)?([^=]*)=(.*)$/.exec(text) ?? []
    if (name === "sync-frequency") {
      const seconds = duration.safeParse(given)
      return seconds.success ? { syncFrequencyMs: seconds.data * 1000 } : undefined
    }
    return name === "max-pods" && /^[1-9]\d{0,3}$/.test(given) ? { maxPods: Number(given) } : undefined
  },
  (text) => {
    const flag = FLAGS.get(/^(?:--)?([^=]*)/.exec(text)![1]!)
    return flag === undefined
      ? "must be max-pods=COUNT, as in max-pods=250, or sync-frequency=TIME, as in sync-frequency=30s; other " +
          "settings of a kubelet are not known"
      : `here it is the flag --${flag}`
  },
)

/** Joins the settings given; of two values the later counts. */
export const kubeletSettings = (given: readonly Partial<KubeletSettings>[]): KubeletSettings =>
  given.reduce<KubeletSettings>((all, one) => ({ ...all, ...one }), {
    maxPods: MAX_PODS,
    syncFrequencyMs: SYNC_FREQUENCY_MS,
  })
