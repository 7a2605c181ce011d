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
