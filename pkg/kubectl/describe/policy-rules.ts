import type { PolicyRule } from "../../api/rbac/v1/rules.ts"

/** The rules of a role as `describe` and `auth` show them. Source: kubectl pkg/util/rbac. */

export interface SimpleRule {
  readonly verbs: readonly string[]
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames: readonly string[]
  readonly nonResourceURLs: readonly string[]
}

/** Returns rules with one verb, one resource and one name each, that allow the same. */
export function brokenDown({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): SimpleRule[] {
  const rules: SimpleRule[] = []
  for (const group of apiGroups)
    for (const resource of resources)
      for (const verb of verbs)
        for (const names of resourceNames.length === 0 ? [[]] : resourceNames.map((name) => [name]))
          rules.push({
            verbs: [verb],
            apiGroups: [group],
            resources: [resource],
            resourceNames: names,
            nonResourceURLs: [],
          })
  for (const url of nonResourceURLs)
    for (const verb of verbs)
      rules.push({ verbs: [verb], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [url] })
  return rules
}

/** Joins the verbs of rules about the same resource, and orders the rules as their text in Go is ordered. */
export function compacted(rules: readonly SimpleRule[]): SimpleRule[] {
  const byResource = new Map<string, { rule: SimpleRule; verbs: Set<string> }>()
  const others: SimpleRule[] = []
  for (const rule of rules) {
    if (rule.nonResourceURLs.length > 0) {
      others.push(rule)
      continue
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames])
    const known = byResource.get(key)
    if (known === undefined) byResource.set(key, { rule, verbs: new Set(rule.verbs) })
    else for (const verb of rule.verbs) known.verbs.add(verb)
  }
  const joined = [...byResource.values()].map(({ rule, verbs }) => ({ ...rule, verbs: [...verbs] }))
  return [...others, ...joined].sort((a, b) => (goString(a) < goString(b) ? -1 : goString(a) > goString(b) ? 1 : 0))
}

const goString = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: SimpleRule): string =>
  `&PolicyRule{Verbs:${listText(verbs)},APIGroups:${listText(apiGroups)},Resources:${listText(resources)},ResourceNames:${listText(resourceNames)},NonResourceURLs:${listText(nonResourceURLs)},}`

export const listText = (texts: readonly string[]): string => `[${texts.join(" ")}]`

/** Returns a resource with its group and subresource: `deployments.apps/scale`. */
export function resourceWithGroup({ resources, apiGroups }: SimpleRule): string {
  const [first] = resources
  if (first === undefined) return ""
  const slash = first.indexOf("/")
  const [resource, subresource] = slash < 0 ? [first, ""] : [first.slice(0, slash), first.slice(slash)]
  return `${resource}${apiGroups[0] ? `.${apiGroups[0]}` : ""}${subresource}`
}
