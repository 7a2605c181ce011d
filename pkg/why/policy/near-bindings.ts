import type { ClusterRole } from "../../api/rbac/v1/clusterrole.ts"
import type { Role } from "../../api/rbac/v1/role.ts"
import type { RoleBinding } from "../../api/rbac/v1/rolebinding.ts"
import { nameOf } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, refOf, ROLE_BINDINGS, ROLES } from "../reading/kinds.ts"
import type { Holder, Right } from "./right.ts"

/**
 * Returns the bindings that were probably meant to give an account a right: to a role that does not exist, for an
 * account of the same name elsewhere, or in another namespace.
 */
export async function nearlyBound(
  namespace: string,
  account: string,
  right: Right,
  holder: Holder | undefined,
  { reader }: Ward,
): Promise<readonly string[]> {
  const local = (await reader.listIfAllowed(ROLE_BINDINGS)) ?? []
  const wide = (await reader.listIfAllowed(CLUSTER_ROLE_BINDINGS)) ?? []
  const words: string[] = []
  for (const binding of [...local, ...wide]) {
    const { roleRef, metadata } = binding
    const what = nameOf(refOf(binding))
    const isHere = metadata.namespace === undefined || metadata.namespace === right.namespace
    const isAccount = subjects(binding).some((one) => one.name === account && one.namespace === namespace)
    const isHolder = holder !== undefined && roleRef.kind === holder.kind && roleRef.name === holder.name
    if (isAccount && isHere) {
      const role =
        roleRef.kind === "Role"
          ? await reader.get(ROLES, metadata.namespace, roleRef.name).catch(() => null)
          : await reader.get(CLUSTER_ROLES, undefined, roleRef.name).catch(() => null)
      const names = role === undefined || role === null ? [] : namesIn(role, right)
      if (names.length > 0)
        words.push(`${roleRef.kind} ${roleRef.name}, which ${what} binds, has it for ${names.join(", ")} only`)
      if (role === undefined) words.push(`${what} names ${roleRef.kind} ${roleRef.name}, which does not exist`)
    } else if (isAccount && isHolder) words.push(`${what} binds it in namespace ${metadata.namespace ?? ""} only`)
    else if (isHolder && isHere) {
      const other = subjects(binding).find((one) => one.name === account)
      if (other !== undefined) words.push(`${what} binds it to the account ${other.namespace ?? ""}/${account}`)
    }
  }
  return words.slice(0, MOST)
}

/** Returns the names of the only objects for which a role has a right. */
const namesIn = ({ rules }: Role | ClusterRole, { verb, resource, group }: Right): readonly string[] =>
  (rules ?? []).flatMap(({ verbs = [], apiGroups = [], resources = [], resourceNames = [] }) =>
    verbs.includes(verb) && apiGroups.includes(group) && resources.includes(resource) ? resourceNames : [],
  )

/** How many bindings are named. */
const MOST = 2

const subjects = ({ subjects: all = [] }: Pick<RoleBinding, "subjects">) =>
  all.filter(({ kind }) => kind === "ServiceAccount")
