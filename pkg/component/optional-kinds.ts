import type { FeatureName, Features } from "./features.ts"

/** A kind that is served only where `--runtime-config` turns its version on, and its gate is on. */
export interface OptionalKind {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly gate: FeatureName
}

/** The kinds that Kubernetes 1.36 has off by default, and that k3ts can serve. Source: pkg/controlplane/instance.go. */
export const OPTIONAL_KINDS: readonly OptionalKind[] = [
  { group: "certificates.k8s.io", version: "v1beta1", plural: "clustertrustbundles", gate: "ClusterTrustBundle" },
  { group: "certificates.k8s.io", version: "v1beta1", plural: "podcertificaterequests", gate: "PodCertificateRequest" },
  { group: "coordination.k8s.io", version: "v1beta1", plural: "leasecandidates", gate: "CoordinatedLeaderElection" },
  { group: "scheduling.k8s.io", version: "v1alpha2", plural: "podgroups", gate: "GenericWorkload" },
  { group: "scheduling.k8s.io", version: "v1alpha2", plural: "workloads", gate: "GenericWorkload" },
  {
    group: "storagemigration.k8s.io",
    version: "v1beta1",
    plural: "storageversionmigrations",
    gate: "StorageVersionMigrator",
  },
]

/** Versions of the API that Kubernetes 1.36 has off. Source: pkg/controlplane/instance.go. */
export const OFF_VERSIONS: Readonly<Record<"beta" | "alpha", readonly string[]>> = {
  beta: [
    "admissionregistration.k8s.io/v1beta1",
    "authentication.k8s.io/v1beta1",
    "certificates.k8s.io/v1beta1",
    "coordination.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "networking.k8s.io/v1beta1",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1beta2",
    "storage.k8s.io/v1beta1",
    "storagemigration.k8s.io/v1beta1",
  ],
  alpha: [
    "admissionregistration.k8s.io/v1alpha1",
    "authentication.k8s.io/v1alpha1",
    "certificates.k8s.io/v1alpha1",
    "coordination.k8s.io/v1alpha2",
    "internal.apiserver.k8s.io/v1alpha1",
    "resource.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1alpha2",
    "storage.k8s.io/v1alpha1",
  ],
}

/** One word of `--runtime-config`: what it names, and whether it is on. */
export interface RuntimeConfigEntry {
  /** `api/all`, `api/beta`, `<group>/<version>` or `<group>/<version>/<plural>`. */
  readonly key: string
  readonly on: boolean
}

const VALUES: ReadonlySet<string> = new Set(["", "true", "false", "1", "0"])

/** Returns what `NAME=BOOL` says; undefined for another form. A name alone is on, and so is `1`. */
export function runtimeConfigEntry(text: string): RuntimeConfigEntry | undefined {
  const [key, value = "", ...more] = text.split("=").map((part) => part.trim())
  if (key === undefined || key === "" || /\s/.test(key) || more.length > 0 || !VALUES.has(value)) return undefined
  return { key, on: value !== "false" && value !== "0" }
}

export const versionOf = ({ group, version }: OptionalKind): string => `${group}/${version}`

const stageOf = (kind: OptionalKind): "beta" | "alpha" =>
  OFF_VERSIONS.beta.includes(versionOf(kind)) ? "beta" : "alpha"

/**
 * Returns the kinds that `--runtime-config` turns on and whose gates are on. A word about a resource counts more than
 * one about its version, and this more than `api/beta` and `api/all`. Source: apiserver
 * pkg/server/resourceconfig/helpers.go MergeAPIResourceConfigs.
 */
export function servedOptionalKinds(runtimeConfig: readonly string[], features: Features): readonly OptionalKind[] {
  const said = new Map(
    runtimeConfig.flatMap((text) => {
      const entry = runtimeConfigEntry(text)
      return entry === undefined ? [] : [[entry.key, entry.on] as const]
    }),
  )
  if (said.size === 0) return []
  return OPTIONAL_KINDS.filter((kind) => {
    const names = [`${versionOf(kind)}/${kind.plural}`, versionOf(kind), `api/${stageOf(kind)}`, "api/all"]
    return features[kind.gate] && names.map((name) => said.get(name)).find((on) => on !== undefined) === true
  })
}
