/**
 * Prevents escalation: a user may grant only rights that he has. Checks writes of roles and bindings. Source:
 * pkg/registry/rbac/{role,clusterrole,rolebinding,clusterrolebinding}/policybased.
 */
import type { PolicyRule, RoleRef } from "../../../../pkg/api/rbac/v1/rules.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { KindHooks } from "../context.ts"
import type { ApiRequest, UserInfo } from "../../call/request.ts"
import type { RbacAuthorizer } from "../../authorization/rbac.ts"
import { HeldRights, TooManyRights, type Lacking } from "../../authorization/coverage.ts"

const GROUP = "rbac.authorization.k8s.io"

/** Hooks of Role and ClusterRole: a user who writes rules must have all of them, or the verb `escalate`. */
export const roleHooks = (rbac: RbacAuthorizer): KindHooks<RoleLike> => ({
  checkWrite(request, object, before, decider) {
    const { aggregationRule } = object
    const rules = object.rules ?? []
    if (
      before !== undefined &&
      deepEqual(rules, before.rules ?? []) &&
      deepEqual(aggregationRule, before.aggregationRule)
    )
      return
    const { user, resource, namespace } = request
    if (
      decider.authorize({
        user,
        verb: "escalate",
        group: GROUP,
        version: "*",
        resource: resource.plural,
        namespace,
        name: object.metadata.name,
      }).allowed
    )
      return
    const wanted =
      aggregationRule === undefined
        ? rules
        : [...rules, { verbs: ["*"], apiGroups: ["*"], resources: ["*"] }, { verbs: ["*"], nonResourceURLs: ["*"] }]
    refuseUncovered(request, object, rbac.rulesOf(user, namespace), wanted)
  },
})

/** Hooks of the bindings: a user who binds a role must have all of its rules, or the verb `bind` on it. */
export const bindingHooks = (rbac: RbacAuthorizer): KindHooks<BindingLike> => ({
  checkWrite(request, object, before, decider) {
    const { roleRef, subjects } = object
    if (before !== undefined && deepEqual(roleRef, before.roleRef) && deepEqual(subjects, before.subjects)) return
    const { user, namespace } = request
    const resource = roleRef.kind === "ClusterRole" ? "clusterroles" : "roles"
    if (
      decider.authorize({ user, verb: "bind", group: GROUP, version: "*", resource, namespace, name: roleRef.name })
        .allowed
    )
      return
    const rules = rbac.rulesOfRole(roleRef, namespace)
    if (rules === undefined)
      throw forbidden(
        request.resource,
        object.metadata.name ?? "",
        `${roleRef.kind.toLowerCase()}.${GROUP} ${JSON.stringify(roleRef.name)} not found`,
      )
    refuseUncovered(request, object, rbac.rulesOf(user, namespace), rules)
  },
})

interface RoleLike extends KubeObject {
  /** Null when there are none. */
  readonly rules?: readonly PolicyRule[] | null
  readonly aggregationRule?: unknown
}
interface BindingLike extends KubeObject {
  readonly roleRef: RoleRef
  readonly subjects?: unknown
}

function refuseUncovered(
  { user, resource }: ApiRequest,
  { metadata }: KubeObject,
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): void {
  const refused = (text: string) =>
    forbidden(
      resource,
      metadata.name ?? "",
      `user ${JSON.stringify(user.name)} (groups=${shownGroups(user)}) is attempting to grant RBAC permissions ${text}`,
    )
  let lacking: Lacking | undefined
  try {
    lacking = new HeldRights(held).lackedOf(wanted)
  } catch (error) {
    if (error instanceof TooManyRights) throw refused(`that cannot be checked: ${error.message}`)
    throw error
  }
  if (lacking !== undefined) throw refused(`not currently held:\n${shownLacking(lacking)}`)
}

/** The longest text about lacking rights, in characters; single names may be longer than what `lackedOf` returns. */
const LONGEST = 131_072

/** Formats the lacking rules, one a line. Differs from upstream: a long list ends with `…`. */
function shownLacking({ rules, isCut }: Lacking): string {
  const lines = rules.map(shown).sort()
  const text = lines.join("\n")
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : isCut ? `${text}\n…` : text
}

const shownGroups = ({ groups }: UserInfo): string => `[${groups.map((group) => JSON.stringify(group)).join(" ")}]`

function shown({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): string {
  const parts = Object.entries({
    NonResourceURLs: nonResourceURLs,
    APIGroups: apiGroups,
    Resources: resources,
    ResourceNames: resourceNames,
    Verbs: verbs,
  })
  return `{${parts.flatMap(([name, values]) => (values === undefined || values.length === 0 ? [] : `${name}:[${values.map((value) => JSON.stringify(value)).join(" ")}]`)).join(", ")}}`
}
