import type { FlowSchema } from "../../../pkg/api/flowcontrol/v1/flowschema.ts"
import type {
  NonResourcePolicyRule,
  ResourcePolicyRule,
  Subject,
} from "../../../pkg/api/flowcontrol/v1/flowschemaspec.ts"
import type { NonResourceRequest, ResourceAttributes, UserInfo } from "../call/request.ts"

/** Finds the requests that a FlowSchema matches. Source: apiserver pkg/util/flowcontrol/rule.go. */

/** The rules of a FlowSchema whose subjects include one user. */
export interface RulesOfUser {
  readonly resourceRules: readonly ResourcePolicyRule[]
  readonly nonResourceRules: readonly NonResourcePolicyRule[]
}

/** Returns the rules whose subjects include a user; undefined when there are none. */
export function rulesFor(user: UserInfo, { spec }: FlowSchema): RulesOfUser | undefined {
  const rules = (spec.rules ?? []).filter(({ subjects }) => subjects.some((subject) => isMeant(user, subject)))
  if (rules.length === 0) return undefined
  return {
    resourceRules: rules.flatMap(({ resourceRules = [] }) => resourceRules),
    nonResourceRules: rules.flatMap(({ nonResourceRules = [] }) => nonResourceRules),
  }
}

/**
 * Returns whether a subject of one of the FlowSchemas includes a user by its name, and not by one of its groups or as
 * everybody.
 */
export function namesOf(schemas: readonly FlowSchema[]): (user: string) => boolean {
  const subjects = schemas
    .flatMap(({ spec }) => (spec.rules ?? []).flatMap((rule) => rule.subjects))
    .filter(({ kind, user }) => kind !== "Group" && user?.name !== "*")
  const users = new Set(
    subjects.flatMap(({ kind, user }) => (kind === "User" && user !== undefined ? [user.name] : [])),
  )
  const accounts = subjects.filter(({ kind }) => kind === "ServiceAccount")
  return (name) =>
    users.has(name) ||
    (name.startsWith("system:serviceaccount:") && accounts.some((subject) => isMeant({ name, groups: [] }, subject)))
}

function isMeant({ name, groups }: UserInfo, subject: Subject): boolean {
  switch (subject.kind) {
    case "User":
      return subject.user !== undefined && (subject.user.name === "*" || subject.user.name === name)
    case "Group":
      return subject.group !== undefined && (subject.group.name === "*" || groups.includes(subject.group.name))
    case "ServiceAccount": {
      if (subject.serviceAccount === undefined) return false
      const prefix = `system:serviceaccount:${subject.serviceAccount.namespace}:`
      return subject.serviceAccount.name === "*"
        ? name.startsWith(prefix)
        : name === prefix + subject.serviceAccount.name
    }
    default:
      return false
  }
}

/** Whether one of the rules matches a request. */
export function matches(rules: RulesOfUser, request: ResourceAttributes | NonResourceRequest): boolean {
  if ("path" in request) {
    for (const rule of rules.nonResourceRules) if (describesPath(rule, request)) return true
    return false
  }
  for (const rule of rules.resourceRules) if (describesResource(rule, request)) return true
  return false
}

function describesResource(
  { verbs, resources, apiGroups, namespaces, clusterScope = false }: ResourcePolicyRule,
  { verb, group, resource, subresource, namespace }: ResourceAttributes,
): boolean {
  return (
    has(verbs, verb) &&
    (isAny(resources) || resources.includes(withSubresource(resource, subresource))) &&
    has(apiGroups, group) &&
    (namespace === undefined || namespace === "" ? clusterScope : has(namespaces ?? [], namespace))
  )
}

const withSubresource = (resource: string, subresource: string | undefined): string =>
  subresource === undefined || subresource === "" ? resource : `${resource}/${subresource}`

function describesPath({ verbs, nonResourceURLs }: NonResourcePolicyRule, { verb, path }: NonResourceRequest): boolean {
  return has(verbs, verb) && nonResourceURLs.some((url) => url === "*" || url === path || path.startsWith(below(url)))
}

/** Returns the prefix of the paths that a URL pattern matches, with or without a star at its end. */
function below(url: string): string {
  const prefix = url.endsWith("*") ? url.slice(0, -1) : url
  return prefix.endsWith("/") ? prefix : `${prefix}/`
}

/** Whether the list is a star. Validation ensures that a star is the only entry. */
const isAny = (list: readonly string[]): boolean => list.length === 1 && list[0] === "*"
const has = (list: readonly string[], value: string): boolean => isAny(list) || list.includes(value)
