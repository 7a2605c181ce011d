import type { ClusterRole } from "../../api/rbac/v1/clusterrole.ts"
import type { ClusterRoleBinding } from "../../api/rbac/v1/clusterrolebinding.ts"
import type { Role } from "../../api/rbac/v1/role.ts"
import type { RoleBinding } from "../../api/rbac/v1/rolebinding.ts"
import type { Describer } from "./describing.ts"
import { describeClusterMetadata } from "./metadata.ts"
import { brokenDown, compacted, listText, resourceWithGroup } from "./policy-rules.ts"
import { description } from "./prefix-writer.ts"

const of = (resource: string) => ({ group: "rbac.authorization.k8s.io", version: "v1", resource })

export const describeRole: Describer = async ({ client }, namespace, name) =>
  rulesOf(await client.get<Role>(of("roles"), namespace, name))

export const describeClusterRole: Describer = async ({ client }, _namespace, name) =>
  rulesOf(await client.get<ClusterRole>(of("clusterroles"), "", name))

export const describeRoleBinding: Describer = async ({ client }, namespace, name) =>
  subjectsOf(await client.get<RoleBinding>(of("rolebindings"), namespace, name))

export const describeClusterRoleBinding: Describer = async ({ client }, _namespace, name) =>
  subjectsOf(await client.get<ClusterRoleBinding>(of("clusterrolebindings"), "", name))

const rulesOf = ({ metadata, rules }: Role | ClusterRole): string =>
  description((w) => {
    describeClusterMetadata(w, metadata)
    w.row(0, "PolicyRule:")
    w.row(1, "Resources", "Non-Resource URLs", "Resource Names", "Verbs")
    w.row(1, "---------", "-----------------", "--------------", "-----")
    for (const rule of compacted((rules ?? []).flatMap(brokenDown)))
      w.row(
        1,
        resourceWithGroup(rule),
        listText(rule.nonResourceURLs),
        listText(rule.resourceNames),
        listText(rule.verbs),
      )
  })

const subjectsOf = ({ metadata, roleRef, subjects }: RoleBinding | ClusterRoleBinding): string =>
  description((w) => {
    describeClusterMetadata(w, metadata)
    w.row(0, "Role:")
    w.row(1, "Kind:", roleRef.kind)
    w.row(1, "Name:", roleRef.name)
    w.row(0, "Subjects:")
    w.row(1, "Kind", "Name", "Namespace")
    w.row(1, "----", "----", "---------")
    for (const { kind, name, namespace = "" } of subjects ?? []) w.row(1, kind, name, namespace)
  })
