/**
 * What Kubernetes has behind a feature gate and k3ts can do without as well, by upstream's names. On is what is on in
 * Kubernetes 1.36. Source: pkg/features/kube_features.go, apiserver pkg/features.
 */
const DEFAULTS = {
  /** `restartPolicyRules` of containers, and a `restartPolicy` of their own. */
  ContainerRestartRules: true,
  /** `lifecycle.stopSignal` of containers. */
  ContainerStopSignals: false,
  /** Variables out of a file in a volume: `fileKeyRef`. */
  EnvFiles: true,
  /** `hostnameOverride` of pods. */
  HostnameOverride: true,
  /** `maxUnavailable` of StatefulSets' rolling updates. */
  MaxUnavailableStatefulSet: false,
  /** Scaling down heeds the annotation `controller.kubernetes.io/pod-deletion-cost`. */
  PodDeletionCost: true,
  /** `resources` of a pod as a whole. */
  PodLevelResources: true,
  /** Watches that begin with what there is, and say when that is over: `sendInitialEvents`. */
  WatchList: true,
} as const

export type FeatureName = keyof typeof DEFAULTS
/** Which features are on. Components are given them with their configuration. */
export type Features = Readonly<Record<FeatureName, boolean>>

export const FEATURE_NAMES = Object.keys(DEFAULTS) as readonly FeatureName[]
export const DEFAULT_FEATURES: Features = DEFAULTS

/** The features with some of them set otherwise. @throws Error that names the gates there are, for any other */
export function featuresOf(given: Readonly<Record<string, boolean>>): Features {
  for (const [name, on] of Object.entries(given)) {
    if (!(name in DEFAULTS))
      throw new Error(`unknown feature gate ${JSON.stringify(name)}: the feature gates are ${FEATURE_NAMES.join(", ")}`)
    if (typeof on !== "boolean")
      throw new Error(`feature gate ${name} cannot be ${JSON.stringify(on)}: expected true or false`)
  }
  return { ...DEFAULTS, ...given }
}

/**
 * `Name=true,Other=false`, as Kubernetes writes them. @throws Error for what is no such list, and for gates that there
 * are not
 */
export function parseFeatureGates(text: string): Features {
  const given = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part): [string, boolean] => {
      const [name = "", value = ""] = part.split("=")
      if (!/^\w+=(true|false)$/i.test(part))
        throw new Error(`${JSON.stringify(part)} is no feature gate: expected Name=true or Name=false`)
      return [name, value.toLowerCase() === "true"]
    })
  return featuresOf(Object.fromEntries(given))
}
