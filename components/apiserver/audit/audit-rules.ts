import { trimRight } from "../../../pkg/apimachinery/go/go-text.ts"
import type { AuditDecision, AuditLevel, AuditStage } from "../call/audit-notes.ts"
import type { NonResourceRequest, ResourceAttributes, UserInfo } from "../call/request.ts"
import type { AuditPolicy, PolicyRule } from "./audit-policy.ts"

/** What the policy is asked about: a request, whose user is unknown if it has failed authentication. */
export type AuditAttributes = (Omit<ResourceAttributes, "user"> | Omit<NonResourceRequest, "user">) & {
  readonly user: UserInfo | undefined
}

/** Decides how much of a request is audited. */
export type AuditRules = (attributes: AuditAttributes) => AuditDecision

/**
 * Returns the rules of a policy: the first rule that matches a request counts, and a request that none matches is not
 * audited. Source: apiserver pkg/audit/policy/checker.go.
 */
export function auditRules({ rules = [], omitStages = [], omitManagedFields = false }: AuditPolicy): AuditRules {
  const decided = rules.map((rule) => ({
    matches: matcherOf(rule),
    decision: {
      level: rule.level as AuditLevel,
      omitStages: stages([...omitStages, ...(rule.omitStages ?? [])]),
      omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
    },
  }))
  const otherwise: AuditDecision = { level: "None", omitStages: stages(omitStages), omitManagedFields }
  return (attributes) => decided.find(({ matches }) => matches(attributes))?.decision ?? otherwise
}

/**
 * The rules without a policy. Differs from upstream, which writes nothing without one: each request over HTTP has an
 * event of level Metadata, and those that last long have another when their response begins.
 */
export const withoutPolicy: AuditRules = () => METADATA
const METADATA: AuditDecision = {
  level: "Metadata",
  omitStages: new Set<AuditStage>(["RequestReceived"]),
  omitManagedFields: false,
}

const stages = (names: readonly string[]): ReadonlySet<AuditStage> => new Set(names as readonly AuditStage[])

type Matcher = (attributes: AuditAttributes) => boolean

function matcherOf(rule: PolicyRule): Matcher {
  const { users = [], userGroups = [], verbs = [], namespaces = [], resources = [], nonResourceURLs = [] } = rule
  const [named, grouped, called] = [new Set(users), new Set(userGroups), new Set(verbs)]
  const target: Matcher =
    namespaces.length > 0 || resources.length > 0
      ? resourceMatcher(rule)
      : nonResourceURLs.length > 0
        ? (attributes) => "path" in attributes && nonResourceURLs.some((spec) => isPathMatched(attributes.path, spec))
        : () => true
  return (attributes) => {
    const { user, verb } = attributes
    if (named.size > 0 && !(user !== undefined && named.has(user.name))) return false
    if (grouped.size > 0 && user?.groups.some((group) => grouped.has(group)) !== true) return false
    if (called.size > 0 && !called.has(verb)) return false
    return target(attributes)
  }
}

function resourceMatcher({ namespaces = [], resources = [] }: PolicyRule): Matcher {
  const spaces = new Set(namespaces)
  return (attributes) => {
    if ("path" in attributes) return false
    const { group, resource, subresource = "", namespace = "", name = "" } = attributes
    if (spaces.size > 0 && !spaces.has(namespace)) return false
    if (resources.length === 0) return true
    const combined = subresource === "" ? resource : `${resource}/${subresource}`
    return resources.some(({ group: wanted = "", resources: plurals = [], resourceNames = [] }) => {
      if (wanted !== group && wanted !== "*") return false
      if (plurals.length === 0) return true
      if (resourceNames.length > 0 && !resourceNames.includes(name)) return false
      return plurals.some(
        (plural) =>
          plural === combined ||
          plural === "*" ||
          (subresource !== "" && plural === `*/${subresource}`) ||
          plural === `${resource}/*`,
      )
    })
  }
}

function isPathMatched(path: string, spec: string): boolean {
  if (spec === "*" || spec === path) return true
  return spec.endsWith("*") && path.startsWith(trimRight(spec, "*"))
}
