import { ClusterRole } from "../../../pkg/api/rbac/v1/clusterrole.ts"
import { ClusterRoleBinding } from "../../../pkg/api/rbac/v1/clusterrolebinding.ts"
import { Role } from "../../../pkg/api/rbac/v1/role.ts"
import { RoleBinding } from "../../../pkg/api/rbac/v1/rolebinding.ts"
import { RBAC_GROUP, type PolicyRule, type Subject } from "../../../pkg/api/rbac/v1/rules.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { aggregatedRules, AGGREGATION } from "./aggregation.ts"
import { CLUSTER_ROLE_BINDINGS, type BootstrapBinding } from "./bootstrap-cluster-bindings.ts"
import { CLUSTER_ROLES } from "./bootstrap-cluster-roles.ts"
import type { GatedRoles } from "./bootstrap-gated-roles.ts"
import { CONTROLLER_ROLES } from "./bootstrap-controller-roles.ts"
import { ROLE_BINDINGS, ROLES } from "./bootstrap-namespace-roles.ts"
import { HeldRights } from "./coverage.ts"
import { wantDecoded, type Wanted } from "../bootstrap/bootstrap-object.ts"

const AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"
const RBAC_METADATA = {
  labels: { "kubernetes.io/bootstrapping": "rbac-defaults" },
  annotations: { [AUTOUPDATE]: "true" },
}

/**
 * Returns the roles and bindings that every cluster has, with those of features that are off by default. Source:
 * plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
 */
export function rbacObjects(gated?: GatedRoles): readonly Wanted[] {
  const controllers = Object.entries({ ...CONTROLLER_ROLES, ...gated?.controllers })
  const clusterRoles: ClusterRole[] = [
    ...[...CLUSTER_ROLES, ...(gated?.roles ?? [])].map(({ name, rules, labels, aggregates }) =>
      clusterRole(name, [...rules, ...(gated?.rules[name] ?? [])], labels, aggregates),
    ),
    ...controllers.map(([account, rules]) => {
      const name = `system:controller:${account}`
      return clusterRole(name, [...rules, ...(gated?.rules[name] ?? [])], undefined, undefined)
    }),
    // sorted by name, as the roles are when the aggregation reads them from the store
  ].sort((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1))
  // Aggregated roles may aggregate other roles, so they are computed from view, the innermost, to admin.
  for (const name of ["view", "edit", "admin"]) {
    const index = clusterRoles.findIndex(({ metadata }) => metadata.name === name)
    const role = clusterRoles[index]!
    clusterRoles[index] = { ...role, rules: aggregatedRules(role, clusterRoles) ?? [] }
  }
  const bindings: readonly (BootstrapBinding & { readonly name?: string })[] = [
    ...CLUSTER_ROLE_BINDINGS,
    ...(gated?.bindings ?? []),
    ...controllers.map(([name]) => ({ role: `system:controller:${name}`, accounts: [`kube-system/${name}`] })),
  ]
  return [
    ...clusterRoles.map((role) =>
      wantDecoded(
        ClusterRole,
        role,
        reconcileRole,
        role.aggregationRule === undefined
          ? { form: Object.keys(role.metadata.labels!).join(" ") }
          : { applied: { manager: AGGREGATION, field: "rules" } },
      ),
    ),
    ...bindings.map((binding) =>
      wantDecoded(
        ClusterRoleBinding,
        { ...typeOf(ClusterRoleBinding), metadata: metadataOf(binding.role), ...granted("ClusterRole", binding) },
        reconcileBinding,
        { form: formOf(binding) },
      ),
    ),
    ...ROLES.map(({ namespace, name, rules }) =>
      wantDecoded(Role, { ...typeOf(Role), metadata: { namespace, ...metadataOf(name) }, rules }, reconcileRole, {
        form: "role",
      }),
    ),
    ...ROLE_BINDINGS.map((binding) =>
      wantDecoded(
        RoleBinding,
        {
          ...typeOf(RoleBinding),
          metadata: { namespace: binding.namespace, ...metadataOf(binding.name ?? binding.role) },
          ...granted("Role", binding),
        },
        reconcileBinding,
        { form: formOf(binding) },
      ),
    ),
  ]
}

// The objects have their properties in the order of decoding, which would not change them.

const typeOf = ({ kind, apiVersion }: Resource) => ({ kind, apiVersion })

const metadataOf = (name: string) => ({ name, ...RBAC_METADATA })

const clusterRole = (
  name: string,
  rules: readonly PolicyRule[],
  labels: Readonly<Record<string, string>> | undefined,
  aggregates: readonly Readonly<Record<string, string>>[] | undefined,
): ClusterRole => ({
  ...typeOf(ClusterRole),
  metadata:
    labels === undefined
      ? metadataOf(name)
      : { name, labels: { ...RBAC_METADATA.labels, ...labels }, annotations: RBAC_METADATA.annotations },
  ...(aggregates === undefined
    ? {}
    : { aggregationRule: { clusterRoleSelectors: aggregates.map((matchLabels) => ({ matchLabels })) } }),
  rules,
})

function granted(kind: "Role" | "ClusterRole", binding: BootstrapBinding): Pick<RoleBinding, "roleRef" | "subjects"> {
  const roleRef = { kind, name: binding.role, apiGroup: RBAC_GROUP }
  const subjects = subjectsOf(binding)
  return subjects.length === 0 ? { roleRef } : { roleRef, subjects }
}

const formOf = (binding: BootstrapBinding): string => (subjectsOf(binding).length === 0 ? "to nobody" : "to some")

const subjectsOf = ({ users = [], groups = [], accounts = [] }: BootstrapBinding): readonly Subject[] => [
  ...groups.map((name): Subject => ({ kind: "Group", name, apiGroup: RBAC_GROUP })),
  ...users.map((name): Subject => ({ kind: "User", name, apiGroup: RBAC_GROUP })),
  ...accounts.map((account): Subject => {
    const [namespace = "", name = ""] = account.split("/")
    return { kind: "ServiceAccount", namespace, name }
  }),
]

const isFixed = ({ metadata }: KubeObject): boolean => metadata.annotations?.[AUTOUPDATE] === "false"

/**
 * Adds the rules and labels that a stored role lacks; what an administrator added stays. Source: component-helpers
 * auth/rbac/reconciliation.
 */
function reconcileRole<T extends Role & Pick<ClusterRole, "aggregationRule">>(role: T, wanted: T): T {
  const { rules, metadata, aggregationRule } = wanted
  if (isFixed(role)) return role
  const labels = { ...metadata.labels, ...role.metadata.labels }
  // The rules of an aggregated role are written by aggregation.ts.
  const own = role.rules ?? []
  const held = new HeldRights(own)
  const lacking = aggregationRule === undefined ? (rules ?? []).filter((rule) => !held.cover(rule)) : []
  return { ...role, metadata: { ...role.metadata, labels }, rules: [...own, ...lacking] }
}

function reconcileBinding<T extends RoleBinding | ClusterRoleBinding>(binding: T, wanted: T): T {
  if (isFixed(binding)) return binding
  const { subjects = [] } = binding
  const lacking = (wanted.subjects ?? []).filter((subject) => !subjects.some((known) => deepEqual(known, subject)))
  return lacking.length === 0 ? binding : { ...binding, subjects: [...subjects, ...lacking] }
}
