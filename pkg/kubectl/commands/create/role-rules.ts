import { isNoMatch } from "../../errors/errors.ts"
import type { RestMapper } from "../../rest/rest-mapper.ts"
import { filled } from "./generator.ts"

/** A resource of `--resource`: `deployments.apps/scale`. */
interface RuleResource {
  readonly resource: string
  readonly group: string
  readonly subresource: string
}

/** What the flags ask for, without duplicates. */
export interface RuleOptions {
  readonly verbs: readonly string[]
  readonly resources: readonly RuleResource[]
  readonly resourceNames: readonly string[]
}

const STANDARD = new Set([
  "*",
  "get",
  "delete",
  "list",
  "create",
  "update",
  "patch",
  "watch",
  "proxy",
  "deletecollection",
  "use",
  "bind",
  "escalate",
  "impersonate",
])

/** Verbs that only mean something for some resources, which discovery need not know. */
const SPECIAL: Readonly<Record<string, readonly string[]>> = {
  use: ["podsecuritypolicies.policy", "podsecuritypolicies.extensions"],
  bind: ["roles.rbac.authorization.k8s.io", "clusterroles.rbac.authorization.k8s.io"],
  escalate: ["roles.rbac.authorization.k8s.io", "clusterroles.rbac.authorization.k8s.io"],
  impersonate: ["users.", "serviceaccounts.", "groups.", "userextras.authentication.k8s.io"],
}

/** Reads `--verb`, `--resource` and `--resource-name`. Source of this file: kubectl pkg/cmd/create/create_role.go. */
export function ruleOptions(flags: {
  readonly verb: readonly string[]
  readonly resource: readonly string[]
  readonly "resource-name": readonly string[]
}): RuleOptions {
  const all = flags.verb.includes("*")
  const resources: RuleResource[] = []
  for (const text of flags.resource) {
    const [path, subresource] = cut(text, "/")
    const [resource, group] = cut(path, ".")
    const parsed = { resource, group: group ?? "", subresource: subresource ?? "" }
    if (text === "*") return options([parsed])
    resources.push(parsed)
  }
  return options(resources)

  function options(found: readonly RuleResource[]): RuleOptions {
    return {
      verbs: all ? ["*"] : [...new Set(flags.verb)],
      resources: found,
      resourceNames: [...new Set(flags["resource-name"])],
    }
  }
}

function cut(text: string, separator: string): readonly [before: string, after: string | undefined] {
  const at = text.indexOf(separator)
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

/** Returns the lines that warn of verbs that are no common ones. */
export const verbWarnings = (verbs: readonly string[]): string =>
  verbs
    .filter((verb) => !STANDARD.has(verb))
    .map((verb) => `Warning: '${verb}' is not a standard resource verb\n`)
    .join("")

/** @throws Error for a resource that is not there, or that a verb cannot be used with */
export async function checkResources({ verbs, resources }: RuleOptions, mapper: RestMapper): Promise<void> {
  for (const { resource, group } of resources) {
    if (resource === "") throw new Error("resource must be specified if apiGroup/subresource specified")
    if (resource === "*") return
    const { found, error } = await lookUp(mapper, resource, group)
    let isSpecial = false
    for (const verb of verbs) {
      const special = Object.hasOwn(SPECIAL, verb) ? SPECIAL[verb]! : undefined
      if (special === undefined) continue
      if (!special.includes(`${found.resource}.${found.group}`))
        throw new Error(`can not perform '${verb}' on '${found.resource}' in group '${found.group}'`)
      isSpecial = true
    }
    if (error !== undefined && !isSpecial) throw error
  }
}

/** Returns the rules, one for each group of the API. */
export async function rulesOf(
  { verbs, resources, resourceNames }: RuleOptions,
  mapper: () => Promise<RestMapper>,
  nonResourceUrls: readonly string[] = [],
): Promise<readonly object[]> {
  const byGroup = new Map<string, string[]>()
  for (const each of resources) {
    const { found } = await lookUp(await mapper(), each.resource, each.group)
    const name = each.subresource === "" ? found.resource : `${found.resource}/${each.subresource}`
    const names = byGroup.get(found.group) ?? []
    byGroup.set(found.group, names)
    if (!names.includes(name)) names.push(name)
  }
  const rules: object[] = [...byGroup]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([group, names]) => ({
      verbs,
      apiGroups: [group],
      resources: names,
      ...filled("resourceNames", resourceNames),
    }))
  if (nonResourceUrls.length > 0) rules.push({ verbs, nonResourceURLs: nonResourceUrls })
  return rules
}

/** Returns a resource by its full name, or as it was given where the server has none, with the error that says so. */
async function lookUp(mapper: RestMapper, resource: string, group: string) {
  try {
    return { found: await mapper.resourceFor({ group, version: "", resource }), error: undefined }
  } catch (err) {
    if (!isNoMatch(err)) throw err
    return { found: { resource, group }, error: err }
  }
}
