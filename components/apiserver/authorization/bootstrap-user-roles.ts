import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"
import { on, READ, WRITE } from "./bootstrap-rules.ts"

export interface BootstrapClusterRole {
  readonly name: string
  readonly rules: readonly PolicyRule[]
  readonly labels?: Readonly<Record<string, string>>
  /** Labels of the roles that this role aggregates. */
  readonly aggregates?: readonly Readonly<Record<string, string>>[]
}

/** Labels of a role whose rules are added to one of the roles for users. */
export const AGGREGATE = (role: "admin" | "edit" | "view"): Readonly<Record<string, string>> => ({
  [`rbac.authorization.k8s.io/aggregate-to-${role}`]: "true",
})

const VIEWED = [
  on(
    READ,
    "core",
    "pods pods/status replicationcontrollers replicationcontrollers/scale replicationcontrollers/status " +
      "serviceaccounts services services/status endpoints persistentvolumeclaims persistentvolumeclaims/status " +
      "configmaps",
  ),
  on(READ, "core", "limitranges resourcequotas resourcequotas/status bindings pods/log namespaces/status"),
  on(READ, "core events.k8s.io", "events"),
  on(READ, "core", "namespaces"),
  on(READ, "discovery.k8s.io", "endpointslices"),
  on(
    READ,
    "apps",
    "controllerrevisions statefulsets statefulsets/status statefulsets/scale daemonsets daemonsets/status " +
      "deployments deployments/status deployments/scale replicasets replicasets/status replicasets/scale",
  ),
  on(READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
  on(READ, "batch", "jobs cronjobs cronjobs/status jobs/status"),
  on(
    READ,
    "extensions",
    "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status " +
      "replicasets replicasets/scale replicasets/status replicationcontrollers/scale networkpolicies",
  ),
  on(READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
  on(READ, "networking.k8s.io", "networkpolicies ingresses ingresses/status"),
  on(READ, "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
]

const EDITED = [
  on(READ, "core", "pods/attach pods/proxy pods/exec pods/portforward secrets services/proxy"),
  on("impersonate", "core", "serviceaccounts"),
  on(WRITE, "core", "pods pods/attach pods/proxy pods/exec pods/portforward"),
  on("create", "core", "pods/eviction"),
  on(
    WRITE,
    "core",
    "replicationcontrollers replicationcontrollers/scale serviceaccounts services services/proxy " +
      "persistentvolumeclaims configmaps secrets",
  ),
  on(WRITE, "core events.k8s.io", "events"),
  on("create", "core", "serviceaccounts/token"),
  on(
    WRITE,
    "apps",
    "statefulsets statefulsets/scale daemonsets deployments deployments/scale deployments/rollback " +
      "replicasets replicasets/scale",
  ),
  on(WRITE, "autoscaling", "horizontalpodautoscalers"),
  on(WRITE, "batch", "jobs cronjobs"),
  on(
    WRITE,
    "extensions",
    "daemonsets deployments deployments/scale deployments/rollback ingresses replicasets replicasets/scale " +
      "replicationcontrollers/scale networkpolicies",
  ),
  on(WRITE, "policy", "poddisruptionbudgets"),
  on(WRITE, "networking.k8s.io", "networkpolicies ingresses"),
  on(`${READ} ${WRITE}`, "coordination.k8s.io", "leases"),
  on(WRITE, "resource.k8s.io", "resourceclaims resourceclaimtemplates"),
]

const ADMINISTERED = [
  on("create", "authorization.k8s.io", "localsubjectaccessreviews"),
  on(`${READ} ${WRITE}`, "rbac.authorization.k8s.io", "roles rolebindings"),
]

/**
 * The roles for users of a namespace: admin, edit and view. They aggregate the roles with a label, so that a new role
 * with such a label adds its rules to them.
 */
export const USER_ROLES: readonly BootstrapClusterRole[] = [
  { name: "admin", rules: [], aggregates: [AGGREGATE("admin")] },
  { name: "edit", rules: [], labels: AGGREGATE("admin"), aggregates: [AGGREGATE("edit")] },
  { name: "view", rules: [], labels: AGGREGATE("edit"), aggregates: [AGGREGATE("view")] },
  { name: "system:aggregate-to-admin", rules: ADMINISTERED, labels: AGGREGATE("admin") },
  { name: "system:aggregate-to-edit", rules: EDITED, labels: AGGREGATE("edit") },
  { name: "system:aggregate-to-view", rules: VIEWED, labels: AGGREGATE("view") },
]
