import { normalize, resolve } from "node:path"
import { unitsOf } from "../../../pkg/apimachinery/scalars/quantity.ts"
import { MAX_PODS, SYNC_FREQUENCY_MS } from "../../../components/kubelet/model/config.ts"
import { crashBackoffOf } from "../../../components/kubelet/model/backoff.ts"
import { DEFAULT_FEATURES, type Features } from "../../../pkg/component/features.ts"
import { DEFAULT_TUNING, type KubeletTuning } from "../../../components/kubelet/model/tuning.ts"
import { CIPHER_SUITES, TLS_VERSIONS, tlsProfileOf } from "../../../pkg/runtime/http/tls-profile.ts"
import { reading } from "../cli/flag-type.ts"
import type { ImpliedValues } from "../cli/flags.ts"
import { UsageError } from "../cli/usage-error.ts"
import { flagsOf } from "../k3s/passed-flags.ts"
import { nameAndValue, refusalOf, type UpstreamFlag } from "../k3s/upstream-arg.ts"
import type * as configuration from "./kubelet-configuration/read.ts"
import type { GivenSetting } from "./given-setting.ts"
import { counted, timed, type Setting } from "./kubelet-setting.ts"
import { EVICTION_SETTINGS, IMAGE_SETTINGS, joinedTuning } from "./kubelet-tuning.ts"

/** The settings of the kubelet that can be chosen. */
export interface KubeletSettings {
  readonly maxPods: number
  readonly syncFrequencyMs: number
  readonly tuning: KubeletTuning
  readonly kubeletRoot?: string
  /** The folder of the manifests of static pods. */
  readonly staticPods?: string
}

/** Source: k8s.io/kubelet config/v1beta1/types.go, and for the least values pkg/kubelet/apis/config/validation. */
const SETTINGS: Readonly<Record<string, Setting<GivenSetting>>> = {
  config: {
    form: "FILE with a KubeletConfiguration, as in config=/etc/k3ts/kubelet.yaml",
    read: (given) => (given === "" ? undefined : { configFile: resolve(given) }),
  },
  "config-dir": {
    form: "FOLDER of .conf files with a KubeletConfiguration, as in config-dir=/etc/k3ts/kubelet.conf.d",
    read: (given) => (given === "" ? undefined : { configFolder: resolve(given) }),
  },
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
  "pod-manifest-path": {
    form: "FOLDER of manifests of static pods, as in pod-manifest-path=/etc/kubernetes/manifests",
    read: (given) => (/^\/[^,]/.test(given) ? { staticPods: normalize(given).replace(/\/$/, "") } : undefined),
  },
  "seccomp-default": {
    form: "true or false",
    read: (given) => (given === "true" || given === "false" ? { seccompDefault: given === "true" } : undefined),
  },
  "allowed-unsafe-sysctls": {
    form: "NAME,…, of which each may end with *, as in allowed-unsafe-sysctls=net.core.somaxconn,kernel.msg*",
    read: (given) => {
      const unsafeSysctls = given.split(",").map((name) => name.trim())
      return unsafeSysctls.every(isSysctlPattern) ? { unsafeSysctls } : undefined
    },
  },
  "tls-min-version": {
    form: Object.keys(TLS_VERSIONS).join(" or "),
    read: (given) => (Object.hasOwn(TLS_VERSIONS, given) ? { tlsVersion: given } : undefined),
  },
  "tls-cipher-suites": {
    form: "NAME,…, as in tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    read: (given) => {
      const tlsSuites = given.split(",").map((name) => name.trim())
      return tlsSuites.every((name) => CIPHER_SUITES.includes(name)) ? { tlsSuites } : undefined
    },
  },
  ...EVICTION_SETTINGS,
  ...IMAGE_SETTINGS,
}

/** Names that may end with `*`, of a namespace that pods have. Source: pkg/kubelet/sysctl/allowlist.go. */
const isSysctlPattern = (name: string): boolean => /^(kernel\.(shm|msg|sem)|fs\.mqueue\.|net\.)[\w.\-/]*\*?$/.test(name)

/** The names of the settings, which are flags of an upstream kubelet too. */
export const KUBELET_SETTINGS: readonly string[] = Object.keys(SETTINGS)

function upstreamFlag(name: string): UpstreamFlag | undefined {
  const flags = flagsOf("kubelet")
  return Object.hasOwn(flags, name) ? flags[name] : undefined
}

const nameIn = (text: string): string => /^(?:--)?([^=]*)/.exec(text)![1]!

/** `max-pods=250`, as k3s takes it, or `--max-pods=250`. */
export const kubeletArg = reading(
  (text): GivenSetting | undefined => {
    const [name, given] = nameAndValue(text)
    const setting = settingOf(name)
    if (setting !== undefined) return text.includes("=") ? setting.read(given) : undefined
    const flag = upstreamFlag(name)
    if (flag === undefined || "done" in flag) return undefined
    return refusalOf(flag, given) === undefined ? { withoutEffect: name } : undefined
  },
  (text) => {
    const [name, given] = nameAndValue(text)
    const setting = settingOf(name)
    if (setting !== undefined) return `must be ${name}=${setting.form}`
    const flag = upstreamFlag(name)
    if (flag === undefined)
      return `must be one of ${KUBELET_SETTINGS.join(", ")}; other settings of a kubelet are not known`
    if ("done" in flag) return `here it is the flag --${flag.done}`
    return `k3ts has no such setting: ${refusalOf(flag, given)}`
  },
)

/** Where the value of a setting ends: at a comma before the name of another one. */
export const splitKubeletArgs = (text: string): readonly string[] =>
  text.split(",").reduce<string[]>((parts, part) => {
    const name = nameIn(part.trim())
    const isOther = settingOf(name) !== undefined || upstreamFlag(name) !== undefined
    const before = parts.pop()
    return before === undefined || isOther
      ? [...parts, ...(before === undefined ? [] : [before]), part]
      : [...parts, `${before},${part}`]
  }, [])

const settingOf = (name: string): Setting<GivenSetting> | undefined =>
  Object.hasOwn(SETTINGS, name) ? SETTINGS[name] : undefined

/** Loads what reads a KubeletConfiguration, since few nodes are given one. */
const load = (): typeof configuration =>
  // oxlint-disable-next-line typescript/no-require-imports
  require("./kubelet-configuration/read.ts")

/**
 * Reads the KubeletConfiguration that the settings name; undefined where they name none.
 * @throws UsageError with the flag, file, line, field and mend
 */
export function configurationIn(given: readonly GivenSetting[]): configuration.ReadConfiguration | undefined {
  const { configFile, configFolder } = given.reduce<GivenSetting>((all, one) => ({ ...all, ...one }), {})
  if (configFile === undefined && configFolder === undefined) return undefined
  const files = {
    ...(configFile === undefined ? {} : { configFile }),
    ...(configFolder === undefined ? {} : { configFolder }),
  }
  try {
    return load().readKubeletConfiguration(files, SETTINGS)
  } catch (err) {
    // By name: the class would be loaded by every start.
    if (!(err instanceof Error) || err.name !== "ConfigurationError") throw err
    const named = configFile === undefined ? `config-dir=${configFolder}` : `config=${configFile}`
    throw new UsageError(`--kubelet-arg ${named} cannot be used:\n${err.message}`, { cause: err })
  }
}

/** Returns the flags of k3ts that a KubeletConfiguration sets, as `registerWithTaints` sets `--node-taint`. */
export const impliedByKubeletArgs = (given: unknown): ImpliedValues =>
  configurationIn(given as readonly GivenSetting[])?.flags ?? new Map<string, never>()

/** Returns the settings with those of their KubeletConfiguration before them, where no other says the same. */
function withConfiguration(given: readonly GivenSetting[]): readonly GivenSetting[] {
  const read = configurationIn(given)
  if (read === undefined) return given
  const said = new Set(given.flatMap((one) => Object.keys(one)))
  return [...read.settings.filter((one) => !Object.keys(one).some((key) => said.has(key))), ...given]
}

/**
 * Joins the settings given, for a node with so many processors; of two values the later counts. Of pods, the smaller
 * number counts. Source: pkg/kubelet/nodestatus/setters.go MachineInfo. @throws UsageError for settings that do not fit
 * each other, and for a KubeletConfiguration that cannot be used
 */
export function kubeletSettings(
  flags: readonly GivenSetting[],
  cpus: number,
  features: Features = DEFAULT_FEATURES,
): KubeletSettings {
  const given = withConfiguration(flags)
  const crashes = crashBackoffOf(features)
  const {
    maxPods = MAX_PODS,
    podsPerCore = Infinity,
    syncFrequencyMs = SYNC_FREQUENCY_MS,
    measureMs = DEFAULT_TUNING.measureMs,
    containerLogMaxBytes = DEFAULT_TUNING.containerLogMaxBytes,
    containerLogMaxFiles = DEFAULT_TUNING.containerLogMaxFiles,
    podMaxPids = DEFAULT_TUNING.podMaxPids,
    seccompDefault = DEFAULT_TUNING.seccompDefault,
    unsafeSysctls = DEFAULT_TUNING.unsafeSysctls,
    tlsVersion,
    tlsSuites = [],
    longestCrashMs = crashes.longestMs,
    kubeletRoot,
    staticPods,
  } = given.reduce<GivenSetting>((all, one) => ({ ...all, ...one }), {})
  return {
    maxPods: Math.min(maxPods, podsPerCore * cpus),
    syncFrequencyMs,
    ...(kubeletRoot === undefined ? {} : { kubeletRoot }),
    ...(staticPods === undefined ? {} : { staticPods }),
    tuning: {
      ...{ measureMs, containerLogMaxBytes, containerLogMaxFiles, podMaxPids },
      seccompDefault,
      unsafeSysctls,
      tlsProfile: tlsProfileOf(tlsVersion, tlsSuites),
      crashes: { firstMs: Math.min(crashes.firstMs, longestCrashMs), longestMs: longestCrashMs },
      ...joinedTuning(given),
    },
  }
}
