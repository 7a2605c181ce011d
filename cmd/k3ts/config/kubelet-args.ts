import { normalize } from "node:path"
import { unitsOf } from "../../../pkg/apimachinery/scalars/quantity.ts"
import { MAX_PODS, SYNC_FREQUENCY_MS } from "../../../components/kubelet/model/config.ts"
import { DEFAULT_TUNING, type KubeletTuning } from "../../../components/kubelet/model/tuning.ts"
import { reading } from "../cli/flag-type.ts"
import { counted, timed, type Setting } from "./kubelet-setting.ts"
import { EVICTION_SETTINGS, IMAGE_SETTINGS, joinedTuning, type GivenTuning } from "./kubelet-tuning.ts"

/** The settings of the kubelet that can be chosen. */
export interface KubeletSettings {
  readonly maxPods: number
  readonly syncFrequencyMs: number
  readonly tuning: KubeletTuning
  readonly kubeletRoot?: string
}

/** A setting as it was given. */
export interface GivenSetting
  extends
    Partial<Pick<KubeletTuning, "measureMs" | "containerLogMaxBytes" | "containerLogMaxFiles" | "podMaxPids">>,
    GivenTuning {
  readonly maxPods?: number
  readonly podsPerCore?: number
  readonly syncFrequencyMs?: number
  readonly kubeletRoot?: string
}

/** Source: k8s.io/kubelet config/v1beta1/types.go, and for the least values pkg/kubelet/apis/config/validation. */
const SETTINGS: Readonly<Record<string, Setting<GivenSetting>>> = {
  "max-pods": { form: "COUNT, as in max-pods=250", read: (given) => counted(given, (maxPods) => ({ maxPods })) },
  "pod-max-pids": {
    form: "COUNT, or -1 for any number, as in pod-max-pids=4096",
    read: (given) => (given === "-1" ? { podMaxPids: -1 } : counted(given, (podMaxPids) => ({ podMaxPids }))),
  },
  "pods-per-core": {
    form: "COUNT, as in pods-per-core=20",
    read: (given) => counted(given, (podsPerCore) => ({ podsPerCore })),
  },
  "sync-frequency": {
    form: "TIME, as in sync-frequency=30s",
    read: (given) => timed(given, (syncFrequencyMs) => ({ syncFrequencyMs })),
  },
  "node-status-update-frequency": {
    form: "TIME of at least 1s, as in node-status-update-frequency=30s",
    read: (given) => timed(given, (measureMs) => (measureMs < 1000 ? undefined : { measureMs })),
  },
  "container-log-max-size": {
    form: "SIZE, as in container-log-max-size=50Mi",
    read: (given) => {
      const bytes = /^\d{1,6}(k|M|G|Ki|Mi|Gi)?$/.test(given) ? unitsOf(given) : 0
      return bytes > 0 ? { containerLogMaxBytes: bytes } : undefined
    },
  },
  "container-log-max-files": {
    form: "COUNT of at least 2, as in container-log-max-files=10",
    read: (given) =>
      counted(given, (containerLogMaxFiles) => (containerLogMaxFiles < 2 ? undefined : { containerLogMaxFiles })),
  },
  "root-dir": {
    form: "FOLDER, as in root-dir=/var/lib/kubelet",
    read: (given) => (/^\/[^,]/.test(given) ? { kubeletRoot: normalize(given).replace(/\/$/, "") } : undefined),
  },
  ...EVICTION_SETTINGS,
  ...IMAGE_SETTINGS,
}

/** Settings of an upstream kubelet for which k3ts has a flag of its own. */
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
  ["v", "v"],
])

/** What k3ts does where an upstream kubelet has a setting and k3ts has none. */
const ANSWERS: ReadonlyMap<string, string> = new Map([
  ["cgroup-driver", "it is that of containerd, or of systemd where that runs"],
  ["config", "there is no file of settings: give each as --kubelet-arg"],
  [
    "enforce-node-allocatable",
    "what is reserved is kept from the scheduler, not enforced by a cgroup: bound pods by their limits",
  ],
  [
    "eviction-minimum-reclaim",
    "5% of the disk more than the threshold is freed, and of other resources what the next pod had",
  ],
  ["fail-swap-on", "nodes with swap are accepted; leave it out"],
  ["image-gc-max-age", "images are removed when the disk is used as far as image-gc-high-threshold says"],
  ["image-minimum-gc-age", "images are kept for two minutes after their last use"],
  ["rotate-certificates", "certificates are renewed by themselves; leave it out"],
  ["rotate-server-certificates", "certificates are renewed by themselves; leave it out"],
])

const nameIn = (text: string): string => /^(?:--)?([^=]*)/.exec(text)![1]!

/** `max-pods=250`, as k3s takes it, or `--max-pods=250`. */
export const kubeletArg = reading(
  (text): GivenSetting | undefined => {
    const [, name = "", given = ""] = /^(?:--)?([^=]*)=(.*)$/.exec(text) ?? []
    return settingOf(name)?.read(given)
  },
  (text) => {
    const name = nameIn(text)
    const [flag, answer] = [FLAGS.get(name), ANSWERS.get(name)]
    if (flag !== undefined) return `here it is the flag --${flag}`
    if (answer !== undefined) return `k3ts has no such setting: ${answer}`
    const setting = settingOf(name)
    return setting === undefined
      ? `must be one of ${Object.keys(SETTINGS).join(", ")}; other settings of a kubelet are not known`
      : `must be ${name}=${setting.form}`
  },
)

/** Where the value of a setting ends: at a comma before the name of another one. */
export const splitKubeletArgs = (text: string): readonly string[] =>
  text.split(",").reduce<string[]>((parts, part) => {
    const name = nameIn(part.trim())
    const isOther = settingOf(name) !== undefined || FLAGS.has(name) || ANSWERS.has(name)
    const before = parts.pop()
    return before === undefined || isOther
      ? [...parts, ...(before === undefined ? [] : [before]), part]
      : [...parts, `${before},${part}`]
  }, [])

const settingOf = (name: string): Setting<GivenSetting> | undefined =>
  Object.hasOwn(SETTINGS, name) ? SETTINGS[name] : undefined

/**
 * Joins the settings given, for a node with so many processors; of two values the later counts. Of pods, the smaller
 * number counts. Source: pkg/kubelet/nodestatus/setters.go MachineInfo. @throws UsageError for settings that do not fit
 * each other
 */
export function kubeletSettings(given: readonly GivenSetting[], cpus: number): KubeletSettings {
  const {
    maxPods = MAX_PODS,
    podsPerCore = Infinity,
    syncFrequencyMs = SYNC_FREQUENCY_MS,
    measureMs = DEFAULT_TUNING.measureMs,
    containerLogMaxBytes = DEFAULT_TUNING.containerLogMaxBytes,
    containerLogMaxFiles = DEFAULT_TUNING.containerLogMaxFiles,
    podMaxPids = DEFAULT_TUNING.podMaxPids,
    kubeletRoot,
  } = given.reduce<GivenSetting>((all, one) => ({ ...all, ...one }), {})
  return {
    maxPods: Math.min(maxPods, podsPerCore * cpus),
    syncFrequencyMs,
    ...(kubeletRoot === undefined ? {} : { kubeletRoot }),
    tuning: { measureMs, containerLogMaxBytes, containerLogMaxFiles, podMaxPids, ...joinedTuning(given) },
  }
}
