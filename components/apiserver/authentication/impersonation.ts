import { ApiError, badRequest } from "../../../pkg/apimachinery/errors.ts"
import type { AuthorizationDecision, ResourceAttributes, UserInfo } from "../call/request.ts"
import { ANONYMOUS, AUTHENTICATED, unescaped, UNAUTHENTICATED } from "./authenticator.ts"
import { serviceAccountGroups } from "./service-account.ts"

const EXTRA_PREFIX = "impersonate-extra-"
const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/
const GROUP = "authentication.k8s.io"

interface Headers {
  header(name: string): readonly string[]
  headerNames(): readonly string[]
}

/**
 * Returns the user that a request acts as: the sender, or the user in its Impersonate-* headers if the sender may
 * impersonate each part. Throws BadRequest and Forbidden. Source: apiserver pkg/endpoints/filters/impersonation.go.
 */
export function impersonate(
  sender: UserInfo,
  { header, headerNames }: Headers,
  authorize: (request: ResourceAttributes) => AuthorizationDecision,
): UserInfo {
  const [name] = header("impersonate-user")
  const groups = header("impersonate-group")
  const [uid] = header("impersonate-uid")
  const extras = headerNames().filter((key) => key.startsWith(EXTRA_PREFIX))
  if (name === undefined || name === "") {
    if (groups.length > 0 || uid !== undefined || extras.length > 0)
      throw badRequest(
        `requested ${goUser(groups, uid ?? "", new Map(extras.map((key) => [extraName(key), header(key)])))} without ` +
          "impersonating a user name",
      )
    return sender
  }

  const check = (attributes: Omit<ResourceAttributes, "user" | "verb">) => {
    const { allowed, reason } = authorize({ user: sender, verb: "impersonate", ...attributes })
    if (allowed) return
    const { group, resource, subresource, namespace } = attributes
    const what =
      `resource "${subresource === undefined ? resource : `${resource}/${subresource}`}" in API group ` + `"${group}"`
    const where = namespace === undefined ? "at the cluster scope" : `in the namespace "${namespace}"`
    throw new ApiError(
      "Forbidden",
      `${group === "" ? resource : `${resource}.${group}`} "${attributes.name}" is forbidden: User ` +
        `"${sender.name}" cannot impersonate ${what} ${where}${reason === "" ? "" : `: ${reason}`}`,
      { ...(attributes.name ? { name: attributes.name } : {}), ...(group === "" ? {} : { group }), kind: resource },
    )
  }

  const account = SERVICE_ACCOUNT.exec(name)
  if (account !== null)
    check({ group: "", version: "v1", resource: "serviceaccounts", namespace: account[1]!, name: account[2]! })
  else check({ group: "", version: "v1", resource: "users", name })
  for (const group of groups) check({ group: "", version: "v1", resource: "groups", name: group })
  const extra: Record<string, readonly string[]> = {}
  for (const key of extras) {
    const subresource = extraName(key)
    extra[subresource] = header(key)
    for (const value of header(key))
      check({ group: GROUP, version: "v1", resource: "userextras", subresource, name: value })
  }
  if (uid !== undefined) check({ group: GROUP, version: "v1", resource: "uids", name: uid })

  return {
    name,
    groups:
      groups.length > 0
        ? grouped(name, groups)
        : account === null
          ? grouped(name, [])
          : serviceAccountGroups(account[1]!),
    ...(uid === undefined ? {} : { uid }),
    ...(extras.length === 0 ? {} : { extra }),
  }
}

/** Adds the group system:authenticated or system:unauthenticated, unless one of the two is there. */
function grouped(name: string, groups: readonly string[]): readonly string[] {
  if (groups.includes(AUTHENTICATED) || groups.includes(UNAUTHENTICATED)) return groups
  return [...groups, name === ANONYMOUS.name ? UNAUTHENTICATED : AUTHENTICATED]
}

const extraName = (header: string): string => unescaped(header.slice(EXTRA_PREFIX.length))

/** The user without a name as Go prints it: upstream's message shows it so. */
function goUser(groups: readonly string[], uid: string, extra: ReadonlyMap<string, readonly string[]>): string {
  const strings = (values: readonly string[]) => `[]string{${values.map((value) => JSON.stringify(value)).join(", ")}}`
  const shownGroups = groups.length === 0 ? "[]string(nil)" : strings(groups)
  const entries = [...extra].map(([key, values]) => `${JSON.stringify(key)}:${strings(values)}`)
  const shownExtra = entries.length === 0 ? "map[string][]string(nil)" : `map[string][]string{${entries.join(", ")}}`
  return `&user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:${shownGroups}, Extra:${shownExtra}}`
}
