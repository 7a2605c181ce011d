import { ApiError, badRequest } from "../../../pkg/apimachinery/errors.ts"
import type { AuthorizationDecision, ResourceAttributes, UserInfo } from "../request.ts"
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
      throw badRequest("requested groups, uid or extra without impersonating a user: set Impersonate-User as well")
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
      { name: attributes.name ?? "", ...(group === "" ? {} : { group }), kind: resource },
    )
  }

  const account = SERVICE_ACCOUNT.exec(name)
  if (account !== null)
    check({ group: "", version: "v1", resource: "serviceaccounts", namespace: account[1]!, name: account[2]! })
  else check({ group: "", version: "v1", resource: "users", name })
  for (const group of groups) check({ group: "", version: "v1", resource: "groups", name: group })
  const extra: Record<string, readonly string[]> = {}
  for (const key of extras) {
    const subresource = unescaped(key.slice(EXTRA_PREFIX.length))
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
