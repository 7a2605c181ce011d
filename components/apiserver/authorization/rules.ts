import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"

/** The part of a request that is checked against a rule. */
export interface Asked {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource?: string | undefined
}

const has = (list: readonly string[] | undefined, value: string): boolean =>
  list !== undefined && (list.includes(value) || list.includes("*"))

/** Whether the rule covers objects of this name; most rules cover all names. */
export const allowsName = ({ resourceNames }: PolicyRule, name = ""): boolean =>
  resourceNames === undefined || resourceNames.length === 0 || resourceNames.includes(name)

/**
 * Whether the rule allows the verb on the kind, regardless of the object's name. Source:
 * pkg/apis/rbac/v1/evaluation_helpers.go.
 */
export function ruleAllowsKind(
  { verbs, apiGroups, resources }: PolicyRule,
  { verb, group, resource, subresource }: Asked,
): boolean {
  if (!has(verbs, verb) || !has(apiGroups, group)) return false
  if (resources === undefined) return false
  if (subresource === undefined || subresource === "") return has(resources, resource)
  return (
    resources.includes("*") ||
    resources.includes(`${resource}/${subresource}`) ||
    resources.includes(`*/${subresource}`)
  )
}

export const ruleAllowsPath = ({ verbs, nonResourceURLs }: PolicyRule, verb: string, path: string): boolean =>
  nonResourceURLs !== undefined &&
  has(verbs, verb) &&
  nonResourceURLs.some((url) => url === "*" || url === path || (url.endsWith("*") && path.startsWith(url.slice(0, -1))))

/**
 * Returns the parts of `wanted` that `held` does not cover. Each wanted rule is split into rules with a single verb,
 * group, resource and name. Source: component-helpers auth/rbac/validation Covers.
 */
export function notCovered(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] {
  return wanted.flatMap(broken).filter((part) => !held.some((rule) => covers(rule, part)))
}

/** Splits a rule into rules of one verb and one resource, resource name or path each. */
function broken({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = []
  for (const verb of verbs) {
    for (const group of apiGroups)
      for (const resource of resources) {
        const part = { verbs: [verb], apiGroups: [group], resources: [resource] }
        if (resourceNames.length === 0) parts.push(part)
        for (const name of resourceNames) parts.push({ ...part, resourceNames: [name] })
      }
    for (const url of nonResourceURLs) parts.push({ verbs: [verb], nonResourceURLs: [url] })
  }
  return parts
}

function covers(rule: PolicyRule, part: PolicyRule): boolean {
  const verb = part.verbs[0]!
  if (!has(rule.verbs, verb)) return false
  const url = part.nonResourceURLs?.[0]
  if (url !== undefined)
    return (
      rule.nonResourceURLs?.some(
        (own) => own === url || own === "*" || (own.endsWith("*") && url.startsWith(own.slice(0, -1))),
      ) === true
    )
  if (!has(rule.apiGroups, part.apiGroups![0]!)) return false
  const resource = part.resources![0]!
  const slash = resource.indexOf("/")
  const whole = rule.resources?.includes("*") === true || rule.resources?.includes(resource) === true
  if (!whole && !(slash > 0 && rule.resources?.includes(`*${resource.slice(slash)}`) === true)) return false
  const names = rule.resourceNames ?? []
  return names.length === 0 || (part.resourceNames !== undefined && names.includes(part.resourceNames[0]!))
}
