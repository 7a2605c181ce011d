import { trimRight } from "../../../apimachinery/go/go-text.ts"
import type { PolicyRule } from "../../../api/rbac/v1/rules.ts"
import { brokenDown, type SimpleRule } from "../../describe/policy-rules.ts"

/**
 * Returns what the rules allow and their owner's do not, a rule for each verb, resource and name. Source:
 * component-helpers auth/rbac/validation/policy_comparator.go.
 */
export const uncovered = (owned: readonly PolicyRule[], rules: readonly PolicyRule[]): readonly SimpleRule[] =>
  rules.flatMap(brokenDown).filter((rule) => !owned.some((owner) => covers(owner, rule)))

function covers(
  { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule,
  rule: SimpleRule,
): boolean {
  const allows = (list: readonly string[], wanted: readonly string[]) =>
    list.includes("*") || wanted.every((each) => list.includes(each))
  return (
    allows(verbs, rule.verbs) &&
    allows(apiGroups, rule.apiGroups) &&
    (resources.includes("*") || rule.resources.every((each) => coversResource(resources, each))) &&
    rule.nonResourceURLs.every((path) => nonResourceURLs.some((owner) => coversPath(owner, path))) &&
    (resourceNames.length === 0 ||
      (rule.resourceNames.length > 0 && rule.resourceNames.every((each) => resourceNames.includes(each))))
  )
}

function coversResource(resources: readonly string[], resource: string): boolean {
  const slash = resource.indexOf("/")
  return resources.includes(resource) || (slash !== -1 && resources.includes(`*${resource.slice(slash)}`))
}

const coversPath = (owner: string, path: string): boolean =>
  owner === path || (owner.endsWith("*") && path.startsWith(trimRight(owner, "*")))
