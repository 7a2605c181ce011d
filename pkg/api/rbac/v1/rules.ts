import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  invalidValue,
  invalidValues,
  notSupported,
  required,
} from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { isDNS1123Subdomain, isPathSegmentName } from "../../../apimachinery/validation/names.ts"
import { pushAll } from "../../../lists/push-all.ts"

/**
 * The fields of roles and bindings. Source: k8s.io/api rbac/v1/types.go, pkg/apis/rbac/v1/defaults.go,
 * pkg/apis/rbac/validation.
 */

export const RBAC_GROUP = "rbac.authorization.k8s.io"

export const PolicyRule = message(
  "rbac.v1.PolicyRule",
  "Permitted verbs on resources or paths. A list that contains `*` means all.",
  {
    verbs: f.list(1, e.string, "Verbs that are allowed.").atomic().default([]).printZero(),
    apiGroups: f.list(2, e.string, 'Groups of the resources; "" is the core group.').atomic(),
    resources: f.list(3, e.string, "Resources, with a subresource after a slash: pods, pods/log, */scale.").atomic(),
    resourceNames: f.list(4, e.string, "Names of single objects; empty means every object.").atomic(),
    nonResourceURLs: f
      .list(5, e.string, "Paths that are no resources; a `*` at the end stands for any rest. Cluster roles only.")
      .atomic(),
  },
)
export interface PolicyRule extends ObjectOf<typeof PolicyRule> {}

export const Subject = message(
  "rbac.v1.Subject",
  "A user, a group or a service account.",
  {
    kind: f.string(1, "User, Group or ServiceAccount.").required().printZero(),
    apiGroup: f.string(
      2,
      "Group of the kind: empty for service accounts, rbac.authorization.k8s.io for users and groups.",
    ),
    name: f.string(3, "Name of the subject.").required(),
    namespace: f.string(4, "Namespace of a service account."),
  },
  { defaults: (subject: never): object => withGroup(subject), mapType: "atomic" },
)
export interface Subject extends ObjectOf<typeof Subject> {}

/** Users and groups belong to the API group of RBAC, service accounts to the core group. */
const withGroup = (subject: Subject): Subject =>
  subject.apiGroup === undefined && (subject.kind === "User" || subject.kind === "Group")
    ? { ...subject, apiGroup: RBAC_GROUP }
    : subject

export const RoleRef = message(
  "rbac.v1.RoleRef",
  "Names the role that a binding grants.",
  {
    apiGroup: f.string(1, "Group of the role.").default("rbac.authorization.k8s.io").printZero(),
    kind: f.string(2, "Role or ClusterRole.").required().printZero(),
    name: f.string(3, "Name of the role.").required(),
  },
  { mapType: "atomic" },
)
export interface RoleRef extends ObjectOf<typeof RoleRef> {}

/** Returns the faults of rules. Rules of a Role (`namespaced`) cannot name paths. */
export const ruleFaults = (path: string, rules: readonly PolicyRule[], namespaced: boolean): readonly Cause[] =>
  rules.flatMap((rule, i) => {
    const here = at(path, i)
    const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule
    const causes: Cause[] = []
    if (verbs.length === 0) causes.push(required(at(here, "verbs"), "verbs must contain at least one value"))
    if (nonResourceURLs.length > 0) {
      if (namespaced)
        causes.push(
          invalidValue(
            at(here, "nonResourceURLs"),
            nonResourceURLs,
            "namespaced rules cannot apply to non-resource URLs",
          ),
        )
      if (apiGroups.length > 0 || resources.length > 0 || resourceNames.length > 0)
        causes.push(
          invalidValue(
            at(here, "nonResourceURLs"),
            nonResourceURLs,
            "rules cannot apply to both regular resources and non-resource URLs",
          ),
        )
      return causes
    }
    if (apiGroups.length === 0)
      causes.push(required(at(here, "apiGroups"), "resource rules must supply at least one api group"))
    if (resources.length === 0)
      causes.push(required(at(here, "resources"), "resource rules must supply at least one resource"))
    return causes
  })

/** Returns the faults of a binding. A RoleBinding may refer to a Role or a ClusterRole. */
export const bindingFaults = (
  roleRef: RoleRef,
  subjects: readonly Subject[],
  kinds: readonly string[],
): readonly Cause[] => [
  ...(roleRef.apiGroup === RBAC_GROUP ? [] : [notSupported("roleRef.apiGroup", roleRef.apiGroup, [RBAC_GROUP])]),
  ...(kinds.includes(roleRef.kind) ? [] : [notSupported("roleRef.kind", roleRef.kind, kinds)]),
  ...(roleRef.name === ""
    ? [required("roleRef.name")]
    : invalidValues("roleRef.name", roleRef.name, isPathSegmentName(roleRef.name))),
  ...subjects.flatMap((subject, i) => subjectFaults(at("subjects", i), subject, kinds.length > 1)),
]

/** The role of a binding cannot change: a user who may change the subjects could grant another role otherwise. */
export const roleRefChange = (roleRef: RoleRef, old: RoleRef): readonly Cause[] =>
  roleRef.apiGroup === old.apiGroup && roleRef.kind === old.kind && roleRef.name === old.name
    ? []
    : [
        invalidValue(
          "roleRef",
          { APIGroup: roleRef.apiGroup, Kind: roleRef.kind, Name: roleRef.name },
          "cannot change roleRef",
        ),
      ]

function subjectFaults(
  here: string,
  { kind, apiGroup = "", name, namespace = "" }: Subject,
  namespaced: boolean,
): readonly Cause[] {
  const causes: Cause[] = []
  if (name === "") causes.push(required(at(here, "name")))
  if (kind === "ServiceAccount") {
    if (name !== "") pushAll(causes, invalidValues(at(here, "name"), name, isDNS1123Subdomain(name)))
    if (apiGroup !== "") causes.push(notSupported(at(here, "apiGroup"), apiGroup, [""]))
    if (namespace === "" && !namespaced) causes.push(required(at(here, "namespace")))
  } else if (kind === "User" || kind === "Group") {
    if (apiGroup !== RBAC_GROUP) causes.push(notSupported(at(here, "apiGroup"), apiGroup, [RBAC_GROUP]))
  } else causes.push(notSupported(at(here, "kind"), kind, ["ServiceAccount", "User", "Group"]))
  return causes
}
