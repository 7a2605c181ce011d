import { createRequire } from "node:module"
import type * as upstreamGates from "./upstream-gates.ts"

/** Loaded with the first gate that is not of this list. See pkg/cel/compile.ts for the two ways. */
const loadUpstreamGates = (): typeof upstreamGates =>
  typeof require === "function"
    ? require("./upstream-gates.ts") // oxlint-disable-line typescript/no-require-imports
    : createRequire(import.meta.url)("./upstream-gates.ts")

/**
 * The feature gates of Kubernetes that k3ts can turn off too, by upstream's names, with their defaults: those of
 * Kubernetes 1.36. Source: pkg/features/kube_features.go, apiserver pkg/features.
 */
const DEFAULTS = {
  /** The kind ClusterTrustBundle, where `--runtime-config` turns its version on. */
  ClusterTrustBundle: false,
  /** ClusterTrustBundles as files in projected volumes. */
  ClusterTrustBundleProjection: false,
  /** `restartPolicyRules` of containers, and a container's own `restartPolicy`. */
  ContainerRestartRules: true,
  /** `lifecycle.stopSignal` of containers. */
  ContainerStopSignals: false,
  /** The kind LeaseCandidate, where `--runtime-config` turns its version on, and elections among candidates. */
  CoordinatedLeaderElection: false,
  /** `status.terminatingReplicas` of Deployments and ReplicaSets. */
  DeploymentReplicaSetTerminatingReplicas: true,
  /** Environment variables from a file in a volume: `fileKeyRef`. */
  EnvFiles: true,
  /** Autoscalers with `minReplicas: 0`, which scale to none and back by Object and External metrics. */
  HPAScaleToZero: false,
  /** The scheduler gives the pods of a PodGroup with a gang policy their nodes together or not at all. */
  GangScheduling: false,
  /** The kinds Workload and PodGroup, where `--runtime-config` turns their version on, and `schedulingGroup` of pods. */
  GenericWorkload: false,
  /** `hostnameOverride` of pods. */
  HostnameOverride: true,
  /** `maxUnavailable` of StatefulSets' rolling updates. */
  MaxUnavailableStatefulSet: false,
  /**
   * The ReplicaSet controller heeds the annotation `controller.kubernetes.io/pod-deletion-cost` when it scales down.
   */
  PodDeletionCost: true,
  /** The nodeAffinity of a PersistentVolume may be changed. */
  MutablePVNodeAffinity: false,
  /** The kind PodCertificateRequest, where `--runtime-config` turns its version on, and certificates in pods' volumes. */
  PodCertificateRequest: false,
  /** `resources` of a pod as a whole. */
  PodLevelResources: true,
  /** Containers that crash wait for 1 second at first and 60 at most, instead of 10 and 300. */
  ReduceDefaultCrashLoopBackOffDecay: false,
  /** The kind StorageVersionMigration, where `--runtime-config` turns its version on, and its controller. */
  StorageVersionMigrator: false,
  /** `schedulingConstraints` of PodGroups: all pods of a group run in one domain of a topology. */
  TopologyAwareWorkloadScheduling: false,
  /** Watches that begin with the existing objects and mark the end of them with a bookmark: `sendInitialEvents`. */
  WatchList: true,
  /** `priority` and `disruptionMode` of PodGroups: groups preempt as a whole, and are preempted so. */
  WorkloadAwarePreemption: false,
  /** Jobs whose pods run all at once get a Workload and a PodGroup, which is a gang. */
  WorkloadWithJob: false,
} as const

export type FeatureName = keyof typeof DEFAULTS
/** Which feature gates are on. Components get them with their configuration. */
export type Features = Readonly<Record<FeatureName, boolean>>

/** The stages of the gates in Kubernetes 1.36, as metrics show them. */
export const STAGES: Readonly<Record<FeatureName, "ALPHA" | "BETA">> = {
  ClusterTrustBundle: "BETA",
  ClusterTrustBundleProjection: "BETA",
  ContainerRestartRules: "BETA",
  ContainerStopSignals: "ALPHA",
  CoordinatedLeaderElection: "BETA",
  DeploymentReplicaSetTerminatingReplicas: "BETA",
  EnvFiles: "BETA",
  GangScheduling: "ALPHA",
  GenericWorkload: "ALPHA",
  HostnameOverride: "BETA",
  HPAScaleToZero: "ALPHA",
  MaxUnavailableStatefulSet: "BETA",
  MutablePVNodeAffinity: "ALPHA",
  PodCertificateRequest: "BETA",
  PodDeletionCost: "BETA",
  PodLevelResources: "BETA",
  ReduceDefaultCrashLoopBackOffDecay: "ALPHA",
  StorageVersionMigrator: "BETA",
  TopologyAwareWorkloadScheduling: "ALPHA",
  WatchList: "BETA",
  WorkloadAwarePreemption: "ALPHA",
  WorkloadWithJob: "ALPHA",
}

/** The gates without which a gate cannot be on. Source: pkg/features/kube_features.go. */
const DEPENDENCIES: Readonly<Partial<Record<FeatureName, readonly FeatureName[]>>> = {
  ClusterTrustBundleProjection: ["ClusterTrustBundle"],
  GangScheduling: ["GenericWorkload"],
  TopologyAwareWorkloadScheduling: ["GenericWorkload"],
  WorkloadAwarePreemption: ["GangScheduling"],
  WorkloadWithJob: ["GenericWorkload"],
}

export const FEATURE_NAMES = Object.keys(DEFAULTS) as readonly FeatureName[]
export const DEFAULT_FEATURES: Features = DEFAULTS

/**
 * Returns the default feature gates with those of `given` set. Gates of Kubernetes that k3ts cannot change may be given
 * as they are. @throws Error for others, and for an unknown gate, with the names of all gates
 */
export function featuresOf(given: Readonly<Record<string, boolean>>): Features {
  for (const [name, on] of Object.entries(given)) {
    const isOwn = name in DEFAULTS
    if (!isOwn && !loadUpstreamGates().isUpstreamGate(name))
      throw new Error(`unknown feature gate ${JSON.stringify(name)}: the feature gates are ${FEATURE_NAMES.join(", ")}`)
    if (typeof on !== "boolean")
      throw new Error(`feature gate ${name} cannot be ${JSON.stringify(on)}: expected true or false`)
    const refusal = isOwn ? undefined : loadUpstreamGates().refusalOfGate(name, on)
    if (refusal !== undefined) throw new Error(refusal)
  }
  const own = Object.entries(given).filter(([name]) => name in DEFAULTS)
  const features: Features = { ...DEFAULTS, ...Object.fromEntries(own) }
  for (const [name, needed] of Object.entries(DEPENDENCIES) as [FeatureName, readonly FeatureName[]][]) {
    const off = needed.filter((other) => !features[other])
    if (features[name] && off.length > 0)
      throw new Error(`${name} is enabled, but depends on features that are disabled: [${off.join(" ")}]`)
  }
  return features
}

/**
 * Parses `Name=true,Other=false`, the format of Kubernetes' `--feature-gates`.
 * @throws Error when the text has another format, or names an unknown gate
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
