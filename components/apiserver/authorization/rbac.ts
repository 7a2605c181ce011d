/**
 * Role based access control. Bindings are indexed by subject and followed by the store's events, so a request looks only at what is bound to its own user
 * and groups; the rules that come out of that are kept per user and namespace until any role or binding changes.
 * Source: plugin/pkg/auth/authorizer/rbac/rbac.go, pkg/registry/rbac/validation/rule.go.
 */
import { ClusterRole } from "../../../pkg/api/rbac/v1/clusterrole.ts"
import { ClusterRoleBinding } from "../../../pkg/api/rbac/v1/clusterrolebinding.ts"
import { Role } from "../../../pkg/api/rbac/v1/role.ts"
import { RoleBinding } from "../../../pkg/api/rbac/v1/rolebinding.ts"
import type { PolicyRule, RoleRef, Subject } from "../../../pkg/api/rbac/v1/rules.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import type { Objects } from "../cacher/objects.ts"
import { storagePrefix } from "../cacher/view.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { AuthorizationDecision, NonResourceRequest, ResourceAttributes, UserInfo } from "../request.ts"
import type { Authorizer } from "./authorizer.ts"
import { allowsName, ruleAllowsKind, ruleAllowsPath } from "./rules.ts"

/** A rule, and through which binding it is held. */
export interface HeldRule {
  readonly rule: PolicyRule
  /** `ClusterRoleBinding "x" of ClusterRole "y" to User "z"` */
  readonly source: () => string
}

interface Held {
  readonly rules: readonly HeldRule[]
  /** Those that allow a verb on some object of a kind, whatever its name, by verb and kind: most users ask the same few things over and over. */
  readonly byKind: Map<string, readonly HeldRule[]>
  /** Roles that bindings name but that are not there. */
  readonly missing: readonly string[]
}

interface Grant {
  readonly kind: "RoleBinding" | "ClusterRoleBinding"
  readonly name: string
  readonly namespace: string | undefined
  readonly roleRef: RoleRef
  readonly subject: Subject
}

const RBAC_PREFIX = "/registry/rbac.authorization.k8s.io/"
const NO_GRANTS: readonly Grant[] = []
/** Users and namespaces whose rules are kept, and kinds that each asked for; emptied when full. */
const MOST_KEPT = 10_000

export class RbacAuthorizer implements Authorizer {
  readonly #objects: Objects
  /** Grants by subject: those of cluster role bindings under `subject`, those of role bindings under `namespace subject`. Made anew after a change. */
  #grants: Map<string, Grant[]> | undefined
  readonly #held = new Map<string, Held>()

  constructor({ storage, objects }: { readonly storage: Storage; readonly objects: Objects }) {
    this.#objects = objects
    const bindings = [RoleBinding, ClusterRoleBinding].map((resource) => storagePrefix(resource as unknown as Resource, undefined))
    storage.subscribe((events) => {
      for (const { key } of events) {
        if (!key.startsWith(RBAC_PREFIX)) continue
        this.#held.clear()
        if (bindings.some((prefix) => key.startsWith(prefix))) this.#grants = undefined
      }
    })
  }

  authorize(request: ResourceAttributes | NonResourceRequest): AuthorizationDecision {
    const held = this.#heldBy(request.user, "path" in request ? undefined : request.namespace)
    const { rules, missing } = held
    const found = "path" in request ? rules.find(({ rule }) => ruleAllowsPath(rule, request.verb, request.path)) : forKind(held, request).find(({ rule }) => allowsName(rule, request.name))
    if (found !== undefined) return { allowed: true, get reason() { return `RBAC: allowed by ${found.source()}` } }
    return { allowed: false, reason: missing.length === 0 ? "" : `RBAC: ${missing.length === 1 ? missing[0]! : `[${missing.join(", ")}]`}` }
  }

  /** All rules a user has in a namespace, cluster-wide ones among them. */
  rulesOf(user: UserInfo, namespace: string | undefined): readonly PolicyRule[] {
    return this.#heldBy(user, namespace).rules.map(({ rule }) => rule)
  }

  /** The rules of the role a binding refers to; nothing when it is not there. */
  rulesOfRole(roleRef: RoleRef, namespace: string | undefined): readonly PolicyRule[] | undefined {
    const { kind, name } = roleRef
    return kind === "ClusterRole" ? this.#objects.get(ClusterRole, { name })?.rules : this.#objects.get(Role, { namespace, name })?.rules
  }

  #heldBy(user: UserInfo, namespace: string | undefined): Held {
    const id = `${namespace ?? ""}\n${user.name}\n${user.groups.join("\n")}`
    let held = this.#held.get(id)
    if (held === undefined) {
      if (this.#held.size >= MOST_KEPT) this.#held.clear()
      this.#held.set(id, (held = this.#collect(user, namespace)))
    }
    return held
  }

  #collect(user: UserInfo, namespace: string | undefined): Held {
    const grants = (this.#grants ??= this.#index())
    const subjects = [`User ${user.name}`, ...user.groups.map((group) => `Group ${group}`)]
    const own = subjects.flatMap((subject) => grants.get(subject) ?? NO_GRANTS)
    const local = namespace === undefined || namespace === "" ? [] : subjects.flatMap((subject) => grants.get(`${namespace} ${subject}`) ?? NO_GRANTS)
    const missing: string[] = []
    const rules = [...own, ...local].flatMap((grant): HeldRule[] => {
      const granted = this.rulesOfRole(grant.roleRef, grant.namespace)
      if (granted === undefined) missing.push(`${grant.roleRef.kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(grant.roleRef.name)} not found`)
      return granted?.map((rule) => ({ rule, source: () => sourceOf(grant) })) ?? []
    })
    return { rules, byKind: new Map(), missing }
  }

  #index(): Map<string, Grant[]> {
    const grants = new Map<string, Grant[]>()
    const add = (id: string, grant: Grant) => {
      const known = grants.get(id)
      if (known === undefined) grants.set(id, [grant])
      else known.push(grant)
    }
    for (const { metadata, roleRef, subjects = [] } of this.#objects.list(ClusterRoleBinding))
      for (const subject of subjects) add(subjectId(subject, ""), { kind: "ClusterRoleBinding", name: metadata.name!, namespace: undefined, roleRef, subject })
    for (const { metadata, roleRef, subjects = [] } of this.#objects.list(RoleBinding)) {
      const namespace = metadata.namespace!
      for (const subject of subjects) add(`${namespace} ${subjectId(subject, namespace)}`, { kind: "RoleBinding", name: metadata.name!, namespace, roleRef, subject })
    }
    return grants
  }
}

function forKind({ rules, byKind }: Held, asked: ResourceAttributes): readonly HeldRule[] {
  const id = `${asked.verb} ${asked.group} ${asked.resource}/${asked.subresource ?? ""}`
  let known = byKind.get(id)
  if (known === undefined) {
    if (byKind.size >= MOST_KEPT) byKind.clear()
    byKind.set(id, (known = rules.filter(({ rule }) => ruleAllowsKind(rule, asked))))
  }
  return known
}

/** A service account is the user of its long name. */
const subjectId = ({ kind, name, namespace = "" }: Subject, bindingNamespace: string): string =>
  kind === "ServiceAccount" ? `User system:serviceaccount:${namespace === "" ? bindingNamespace : namespace}:${name}` : `${kind} ${name}`

function sourceOf({ kind, name, namespace, roleRef, subject }: Grant): string {
  const binding = namespace === undefined ? name : `${name}/${namespace}`
  const to = subject.kind === "ServiceAccount" ? `ServiceAccount "${subject.name}/${subject.namespace ?? namespace ?? ""}"` : `${subject.kind} ${JSON.stringify(subject.name)}`
  return `${kind} ${JSON.stringify(binding)} of ${roleRef.kind} ${JSON.stringify(roleRef.name)} to ${to}`
}
