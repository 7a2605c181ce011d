/**
 * The roles and rules of features that are off by default. Facts from upstream's
 * plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
 */
import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"
import type { FeatureName, Features } from "../../../pkg/component/features.ts"
import type { BootstrapBinding } from "./bootstrap-cluster-bindings.ts"
import { EVENTS, on, READ, WRITE } from "./bootstrap-rules.ts"
import type { BootstrapClusterRole } from "./bootstrap-user-roles.ts"

/** What a feature adds to the roles of every cluster. */
export interface GatedRoles {
  /** Rules that existing cluster roles get, by the name of the role. */
  readonly rules: Readonly<Record<string, readonly PolicyRule[]>>
  readonly roles: readonly BootstrapClusterRole[]
  readonly bindings: readonly BootstrapBinding[]
  /** Rules of controllers, by the names of their service accounts. */
  readonly controllers: Readonly<Record<string, readonly PolicyRule[]>>
}

const OF_FEATURES: Readonly<Partial<Record<FeatureName, Partial<GatedRoles>>>> = {
  ClusterTrustBundle: {
    rules: { "system:node": [on(READ, "certificates.k8s.io", "clustertrustbundles")] },
    roles: [
      {
        name: "system:cluster-trust-bundle-discovery",
        rules: [on(READ, "certificates.k8s.io", "clustertrustbundles")],
      },
    ],
    bindings: [{ role: "system:cluster-trust-bundle-discovery", groups: ["system:serviceaccounts"] }],
    controllers: {
      "kube-apiserver-serving-clustertrustbundle-publisher": [
        on("attest", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-serving"),
        on("create update delete list watch", "certificates.k8s.io", "clustertrustbundles"),
        EVENTS,
      ],
    },
  },
  // Upstream elects in its API server, which needs no rights.
  CoordinatedLeaderElection: {
    controllers: {
      "leader-election-controller": [
        on("get list watch create update", "coordination.k8s.io", "leases"),
        on("get list watch update delete", "coordination.k8s.io", "leasecandidates"),
      ],
    },
  },
  GenericWorkload: {
    rules: {
      "system:aggregate-to-view": [on(READ, "scheduling.k8s.io", "workloads podgroups podgroups/status")],
      "system:aggregate-to-edit": [on(WRITE, "scheduling.k8s.io", "workloads podgroups")],
      "system:kube-scheduler": [
        on(READ, "scheduling.k8s.io", "podgroups"),
        on("patch update", "scheduling.k8s.io", "podgroups/status"),
      ],
    },
    controllers: {
      "podgroup-protection-controller": [
        on("get list watch update", "scheduling.k8s.io", "podgroups"),
        on("get list watch", "", "pods"),
      ],
    },
  },
  StorageVersionMigrator: {
    controllers: {
      "storage-version-migrator-controller": [
        on("list create patch", "*", "*"),
        on("get", "apiextensions.k8s.io", "customresourcedefinitions"),
        on("patch", "apiextensions.k8s.io", "customresourcedefinitions/status"),
        on("update", "storagemigration.k8s.io", "storageversionmigrations/status"),
      ],
    },
  },
  WorkloadWithJob: {
    rules: {
      "system:controller:job-controller": [on("get list watch create", "scheduling.k8s.io", "workloads podgroups")],
    },
  },
  PodCertificateRequest: {
    rules: { "system:node": [on("get list watch create", "certificates.k8s.io", "podcertificaterequests")] },
    controllers: {
      podcertificaterequestcleaner: [on("get list watch delete", "certificates.k8s.io", "podcertificaterequests")],
    },
  },
}

/** Returns what the features that are on add; undefined where they add nothing. */
export function gatedRoles(features: Features): GatedRoles | undefined {
  const on = (Object.keys(OF_FEATURES) as FeatureName[]).flatMap((name) =>
    features[name] ? [OF_FEATURES[name] ?? {}] : [],
  )
  if (on.length === 0) return undefined
  const rules: Record<string, readonly PolicyRule[]> = {}
  for (const each of on)
    for (const [role, added] of Object.entries(each.rules ?? {})) rules[role] = [...(rules[role] ?? []), ...added]
  return {
    rules,
    roles: on.flatMap(({ roles = [] }) => roles),
    bindings: on.flatMap(({ bindings = [] }) => bindings),
    controllers: Object.assign({}, ...on.map(({ controllers = {} }) => controllers)) as GatedRoles["controllers"],
  }
}
