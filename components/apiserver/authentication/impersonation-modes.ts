/**
 * The ways in which one user may act as another, in the order in which they are tried. Source: KEP-5284 (constrained
 * impersonation), apiserver pkg/endpoints/filters/impersonation/mode.go.
 */
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { goQuoted } from "../../../pkg/apimachinery/go/go-text.ts"
import { domainPathFaults } from "../../../pkg/apimachinery/validation/domain-path.ts"
import { isDNS1123Label, isDNS1123Subdomain } from "../../../pkg/apimachinery/validation/names.ts"
import { forbiddenTo } from "../authorization/authorize.ts"
import type { AuthorizationDecision, NonResourceRequest, ResourceAttributes, UserInfo } from "../call/request.ts"
import { ANONYMOUS, UNAUTHENTICATED, withAuthenticated } from "./authenticator.ts"
import { serviceAccountGroups } from "./service-account.ts"

/** The user in the headers of a request, before groups that it has anyway are added. */
export type WantedUser = UserInfo

/** Decides about an impersonation. @throws Undecided where an authorizer takes time */
export type Ask = (request: ResourceAttributes | NonResourceRequest) => AuthorizationDecision

/** One request that wants to be that of another user. */
export interface Attempt {
  readonly sender: UserInfo
  readonly wanted: WantedUser
  /** What the request wants to do, as its sender. */
  readonly attributes: ResourceAttributes | NonResourceRequest
  readonly ask: Ask
}

/** One way to act as another user. */
export interface ImpersonationMode {
  /** What a constrained mode adds to the verb `impersonate`; undefined for the verb alone, on whatever is done then. */
  readonly name: string | undefined
  applies(attempt: Attempt): boolean
}

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/
const NODE_PREFIX = "system:node:"
const NODE_NAME = "authentication.kubernetes.io/node-name"
const AUTHENTICATION = { group: "authentication.k8s.io", version: "v1" }
const CORE = { group: "", version: "v1" }
/** From so many groups or extra values on, the right to all is asked for first. */
const MANY = 4

const accountOf = (name: string): { readonly namespace: string; readonly name: string } | undefined => {
  const [, namespace = "", account = ""] = SERVICE_ACCOUNT.exec(name) ?? []
  const isOne = isDNS1123Label(namespace) === undefined && isDNS1123Subdomain(account) === undefined
  return isOne ? { namespace, name: account } : undefined
}
const nodeOf = (name: string): string | undefined => {
  const node = name.startsWith(NODE_PREFIX) ? name.slice(NODE_PREFIX.length) : ""
  return isDNS1123Subdomain(node) === undefined ? node : undefined
}
const isNameAlone = ({ uid, groups, extra }: WantedUser): boolean =>
  uid === undefined && groups.length === 0 && extra === undefined

const associatedNode: ImpersonationMode = {
  name: "associated-node",
  applies({ sender, wanted }) {
    const own = sender.extra?.[NODE_NAME] ?? []
    const node = nodeOf(wanted.name)
    return isNameAlone(wanted) && node !== undefined && accountOf(sender.name) !== undefined && own.join() === node
  },
}

export const IMPERSONATION_MODES: readonly ImpersonationMode[] = [
  associatedNode,
  { name: "arbitrary-node", applies: ({ wanted }) => isNameAlone(wanted) && nodeOf(wanted.name) !== undefined },
  { name: "serviceaccount", applies: ({ wanted }) => isNameAlone(wanted) && accountOf(wanted.name) !== undefined },
  {
    name: "user-info",
    applies: ({ wanted: { name } }) => nodeOf(name) === undefined && accountOf(name) === undefined,
  },
  { name: undefined, applies: () => true },
]

/**
 * Returns the user that a request may act as by a mode which applies to it.
 * @throws ApiError Forbidden
 */
export function actingBy({ name: mode }: ImpersonationMode, attempt: Attempt): UserInfo {
  const { attributes, wanted } = attempt
  const isNodes = mode === associatedNode.name
  const sender = isNodes ? withoutExtra(attempt.sender) : attempt.sender
  const verb = mode === undefined ? "impersonate" : `impersonate:${mode}`
  const check = (request: ResourceAttributes | NonResourceRequest): void => {
    const { allowed, reason, error } = attempt.ask(request)
    if (!allowed) throw forbiddenTo(request, [error?.message ?? "", reason].filter((text) => text !== "").join(": "))
  }
  if (mode !== undefined) check({ ...attributes, user: sender, verb: `impersonate-on:${mode}:${attributes.verb}` })

  const checked: Checked = { sender, verb, wanted, isConstrained: mode !== undefined, check }
  const groups = mayBeNamed(checked, isNodes)
  if (wanted.uid !== undefined) check({ user: sender, verb, ...AUTHENTICATION, resource: "uids", name: wanted.uid })
  mayHaveGroups(checked)
  mayHaveExtra(checked)
  return { ...wanted, groups: withUsual(wanted.name, groups) }
}

interface Checked {
  readonly sender: UserInfo
  readonly verb: string
  readonly wanted: WantedUser
  readonly isConstrained: boolean
  readonly check: (request: ResourceAttributes | NonResourceRequest) => void
}

/** Checks the right to the name. Returns the groups, those included which all users of this kind have. */
function mayBeNamed({ sender, verb, wanted, isConstrained, check }: Checked, anyNode: boolean): readonly string[] {
  const { name, groups } = wanted
  const asked = { user: sender, verb, ...(isConstrained ? AUTHENTICATION : CORE) }
  const account = accountOf(name)
  const node = isConstrained ? nodeOf(name) : undefined
  if (account !== undefined) check({ ...asked, resource: "serviceaccounts", ...account })
  else if (node !== undefined) check({ ...asked, resource: "nodes", name: anyNode ? "*" : node })
  else check({ ...asked, resource: "users", name })
  if (node !== undefined) return ["system:nodes"]
  return groups.length === 0 && account !== undefined ? serviceAccountGroups(account.namespace) : groups
}

function mayHaveGroups({ sender, verb, wanted: { groups }, isConstrained, check }: Checked): void {
  if (groups.length === 0) return
  const asked = { user: sender, verb, ...(isConstrained ? AUTHENTICATION : CORE), resource: "groups" }
  if (isConstrained && groups.includes(""))
    throw forbiddenTo(asked, "impersonating the empty string group is not allowed")
  if (isConstrained && groups.includes(MASTERS))
    throw forbiddenTo({ ...asked, name: MASTERS }, "impersonating the system:masters group is not allowed")
  if (isConstrained && groups.length >= MANY && isPassed(() => check({ ...asked, name: "*" }))) return
  for (const group of groups) check({ ...asked, name: group })
}
const MASTERS = "system:masters"

function mayHaveExtra({ sender, verb, wanted: { extra = {} }, isConstrained, check }: Checked): void {
  const entries = Object.entries(extra)
  if (entries.length === 0) return
  const asked = { user: sender, verb, ...AUTHENTICATION, resource: "userextras" }
  const fault = isConstrained ? extraFault(entries) : undefined
  if (fault !== undefined) throw forbiddenTo(asked, fault)
  const isMany = entries.flatMap(([, values]) => values).length >= MANY
  if (isConstrained && isMany && isPassed(() => check({ ...asked, subresource: "*", name: "*" }))) return
  for (const [subresource, values] of entries) for (const value of values) check({ ...asked, subresource, name: value })
}

function extraFault(entries: readonly (readonly [string, readonly string[]])[]): string | undefined {
  for (const [key, values] of entries) {
    if (key === "") return "impersonating the empty string key in extra is not allowed"
    const [fault] = domainPathFaults("extra.key", key)
    if (fault !== undefined)
      return `impersonating an invalid key in extra is not allowed: ${fault.field}: ${fault.message}`
    if (key !== key.toLowerCase()) return `impersonating a non-lowercase key in extra is not allowed: ${goQuoted(key)}`
    if (values.includes("")) return "impersonating the empty string value in extra is not allowed"
  }
  return undefined
}

/** Whether a check passes. */
function isPassed(check: () => void): boolean {
  try {
    check()
    return true
  } catch (err) {
    if (err instanceof ApiError) return false
    throw err
  }
}

/**
 * An agent that is on every node is asked about as the same user on each, so that what authorizers keep about one
 * counts for all: its attributes are left out, beside their names.
 */
const withoutExtra = (sender: UserInfo): UserInfo => ({
  ...sender,
  extra: { "authentication.kubernetes.io/associated-node-keys": Object.keys(sender.extra ?? {}).toSorted() },
})

/** Adds system:unauthenticated for the anonymous user, and system:authenticated for others who are not in the first. */
function withUsual(name: string, groups: readonly string[]): readonly string[] {
  if (groups.includes(UNAUTHENTICATED)) return groups
  if (name === ANONYMOUS.name) return [...groups, UNAUTHENTICATED]
  return withAuthenticated(groups)
}
