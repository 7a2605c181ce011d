/**
 * Role based access control. Bindings are indexed by subject and follow the store's events, so a request considers only
 * the bindings of its own user and groups. The resulting rules are cached by user and namespace until a role or binding
 * changes. Source: plugin/pkg/auth/authorizer/rbac/rbac.go, pkg/registry/rbac/validation/rule.go.
 */
import { ClusterRole } from "../../../pkg/api/rbac/v1/clusterrole.ts"
import { ClusterRoleBinding } from "../../../pkg/api/rbac/v1/clusterrolebinding.ts"
import { Role } from "../../../pkg/api/rbac/v1/role.ts"
import { RoleBinding } from "../../../pkg/api/rbac/v1/rolebinding.ts"
import type { PolicyRule, RoleRef, Subject } from "../../../pkg/api/rbac/v1/rules.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { exactKey } from "../../../pkg/cache/exact-key.ts"
import { RecentByText } from "../../../pkg/cache/recent-by-text.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import type { Objects } from "../cacher/objects.ts"
import { storagePrefix } from "../cacher/view.ts"
import type { AuthorizationDecision, NonResourceRequest, ResourceAttributes, UserInfo } from "../call/request.ts"
import type { Authorizer } from "./authorizer.ts"
import { RulesByKind } from "./rules-by-kind.ts"
import { allowsName, ruleAllowsPath } from "./rules.ts"

/** A rule, with the binding that grants it. */
export interface HeldRule {
  readonly rule: PolicyRule
  /** The decision when the rule allows a request; its reason names the binding. */
  readonly allowed: AuthorizationDecision
}

interface Held {
  readonly rules: RulesByKind<HeldRule>
  /** Roles that bindings refer to but that do not exist. */
  readonly missing: readonly string[]
}

interface Grants {
  /** By `subjectId`: of cluster role bindings under that of the namespace "", of role bindings under their own. */
  readonly bySubject: ReadonlyMap<string, readonly Grant[]>
  /** Namespaces that have role bindings. */
  readonly namespaces: ReadonlySet<string>
}

interface Grant {
  readonly kind: "RoleBinding" | "ClusterRoleBinding"
  readonly name: string
  readonly namespace: string | undefined
  readonly roleRef: RoleRef
  readonly subject: Subject
}

const NO_GRANTS: readonly Grant[] = []
/** Most cached pairs of user and namespace. */
const MOST_KEPT = 10_000
/**
 * The most that these take, in characters: a node, a controller or an administrator takes a few hundred. Access reviews
 * can be about any user, with any groups.
 */
const MOST_CHARACTERS = 16_000_000

export class RbacAuthorizer implements Authorizer {
  readonly #objects: Objects
  /** Rebuilt after a change. */
  #grants: Grants | undefined
  readonly #held = new RecentByText<Held>({
    entries: MOST_KEPT,
    characters: MOST_CHARACTERS,
    weightOf: ({ rules }) => rules.weight,
    onDrop: () => this.#forgetSame(),
  })
  /** The rules of grants; all users that have a grant share them. */
  #rulesOfGrant = new WeakMap<Grant, readonly HeldRule[]>()
  /** The same cache by the user's object: each component passes one object for as long as it runs. */
  #heldBySame = new WeakMap<UserInfo, Map<string, Held>>()

  constructor({ storage, objects }: { readonly storage: Storage; readonly objects: Objects }) {
    this.#objects = objects
    const prefixOf = (resource: Resource) => storagePrefix(resource, undefined)
    storage.subscribe(() => this.#forget(), [Role, ClusterRole].map(prefixOf))
    storage.subscribe(() => {
      this.#forget()
      this.#grants = undefined
    }, [RoleBinding, ClusterRoleBinding].map(prefixOf))
  }

  authorize(request: ResourceAttributes | NonResourceRequest): AuthorizationDecision {
    const { rules, missing } = this.#heldBy(request.user, "path" in request ? undefined : request.namespace)
    const found =
      "path" in request
        ? rules.all.find(({ rule }) => ruleAllowsPath(rule, request.verb, request.path))
        : rules.for(request).find(({ rule }) => allowsName(rule, request.name))
    if (found !== undefined) return found.allowed
    return {
      allowed: false,
      reason: missing.length === 0 ? "" : `RBAC: ${missing.length === 1 ? missing[0]! : `[${missing.join(", ")}]`}`,
    }
  }

  /** Returns all rules that a user has in a namespace, including cluster-wide rules. */
  rulesOf(user: UserInfo, namespace: string | undefined): readonly PolicyRule[] {
    return this.#heldBy(user, namespace).rules.all.map(({ rule }) => rule)
  }

  /** Returns the rules of the role of a binding; undefined when the role does not exist. */
  rulesOfRole(roleRef: RoleRef, namespace: string | undefined): readonly PolicyRule[] | undefined {
    const { kind, name } = roleRef
    const role =
      kind === "ClusterRole" ? this.#objects.get(ClusterRole, { name }) : this.#objects.get(Role, { namespace, name })
    return role && (role.rules ?? [])
  }

  #forget(): void {
    this.#held.clear()
    this.#rulesOfGrant = new WeakMap()
    this.#forgetSame()
  }

  #forgetSame(): void {
    this.#heldBySame = new WeakMap()
  }

  #heldBy(user: UserInfo, asked = ""): Held {
    const { namespaces } = (this.#grants ??= this.#index())
    // In a namespace without role bindings a user has only cluster-wide rules. Anybody can ask about namespaces that do
    // not exist, so these share one cache entry.
    const namespace = namespaces.has(asked) ? asked : ""
    let known = this.#heldBySame.get(user)
    if (known === undefined) this.#heldBySame.set(user, (known = new Map<string, Held>()))
    let held = known.get(namespace)
    if (held === undefined) known.set(namespace, (held = this.#heldByEqual(user, namespace)))
    return held
  }

  #heldByEqual(user: UserInfo, namespace: string): Held {
    const id = exactKey([namespace, user.name, ...user.groups])
    let held = this.#held.get(id)
    if (held === undefined) this.#held.set(id, (held = this.#collect(user, namespace)))
    return held
  }

  #collect(user: UserInfo, namespace: string): Held {
    const { bySubject: grants } = (this.#grants ??= this.#index())
    const namespaces = namespace === "" ? [""] : ["", namespace]
    const own = namespaces.flatMap((where) => [
      ...(grants.get(subjectId(where, "User", user.name)) ?? NO_GRANTS),
      ...user.groups.flatMap((group) => grants.get(subjectId(where, "Group", group)) ?? NO_GRANTS),
    ])
    // Several bindings may grant one role, and one binding may name a subject several times: the first of them decides.
    const byRole = new Map<string, Grant>()
    for (const grant of own) {
      const id = exactKey([grant.namespace ?? "", grant.roleRef.kind, grant.roleRef.name])
      if (!byRole.has(id)) byRole.set(id, grant)
    }
    const missing: string[] = []
    const rules = [...byRole.values()].flatMap((grant): readonly HeldRule[] => {
      const granted = this.#rulesOf(grant)
      if (granted === undefined)
        missing.push(
          `${grant.roleRef.kind.toLowerCase()}.rbac.authorization.k8s.io ` +
            `${JSON.stringify(grant.roleRef.name)} not found`,
        )
      return granted ?? []
    })
    return { rules: new RulesByKind(rules, (characters) => this.#held.grow(characters)), missing }
  }

  /** Returns the rules of the role of a grant; undefined when the role does not exist. */
  #rulesOf(grant: Grant): readonly HeldRule[] | undefined {
    const known = this.#rulesOfGrant.get(grant)
    if (known !== undefined) return known
    const allowed: AuthorizationDecision = {
      allowed: true,
      get reason() {
        return `RBAC: allowed by ${sourceOf(grant)}`
      },
    }
    const rules = this.rulesOfRole(grant.roleRef, grant.namespace)?.map((rule) => ({ rule, allowed }))
    if (rules !== undefined) this.#rulesOfGrant.set(grant, rules)
    return rules
  }

  #index(): Grants {
    const grants = new Map<string, Grant[]>()
    const namespaces = new Set<string>()
    const add = (grant: Grant) => {
      const id = idOfGrant(grant)
      const known = grants.get(id)
      if (known === undefined) grants.set(id, [grant])
      else known.push(grant)
    }
    for (const { metadata, roleRef, subjects = [] } of this.#objects.list(ClusterRoleBinding))
      for (const subject of subjects)
        add({ kind: "ClusterRoleBinding", name: metadata.name!, namespace: undefined, roleRef, subject })
    for (const { metadata, roleRef, subjects = [] } of this.#objects.list(RoleBinding)) {
      const namespace = metadata.namespace!
      namespaces.add(namespace)
      for (const subject of subjects) add({ kind: "RoleBinding", name: metadata.name!, namespace, roleRef, subject })
    }
    return { bySubject: grants, namespaces }
  }
}

const subjectId = (namespace: string, kind: string, name: string): string => exactKey([namespace, kind, name])

/** A service account is the user with its full name, system:serviceaccount:<namespace>:<name>. */
function idOfGrant({ namespace: bindingNamespace = "", subject: { kind, name, namespace = "" } }: Grant): string {
  const account = `system:serviceaccount:${namespace === "" ? bindingNamespace : namespace}:${name}`
  return kind === "ServiceAccount"
    ? subjectId(bindingNamespace, "User", account)
    : subjectId(bindingNamespace, kind, name)
}

/** `ClusterRoleBinding "x" of ClusterRole "y" to User "z"` */
function sourceOf({ kind, name, namespace, roleRef, subject }: Grant): string {
  const binding = namespace === undefined ? name : `${name}/${namespace}`
  const to =
    subject.kind === "ServiceAccount"
      ? `ServiceAccount "${subject.name}/${subject.namespace ?? namespace ?? ""}"`
      : `${subject.kind} ${JSON.stringify(subject.name)}`
  return `${kind} ${JSON.stringify(binding)} of ${roleRef.kind} ${JSON.stringify(roleRef.name)} to ${to}`
}
