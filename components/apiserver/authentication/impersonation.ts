import { ApiError, badRequest } from "../../../pkg/apimachinery/errors.ts"
import type { NonResourceRequest, ResourceAttributes, UserInfo } from "../call/request.ts"
import { unescaped } from "./authenticator.ts"
import {
  actingBy,
  IMPERSONATION_MODES,
  type Ask,
  type ImpersonationMode,
  type WantedUser,
} from "./impersonation-modes.ts"

const EXTRA_PREFIX = "impersonate-extra-"

interface Headers {
  header(name: string): readonly string[]
  headerNames(): readonly string[]
}

/** Whose rights a request has. */
export interface ActingUser {
  readonly user: UserInfo
  /** The verb by which the sender may be this user; undefined for `impersonate` alone, and without impersonation. */
  readonly constraint?: string | undefined
}

/** Finds out as whom a request acts: its sender, or the user in its Impersonate-* headers. */
export type Impersonate = (
  sender: UserInfo,
  headers: Headers,
  attributes: ResourceAttributes | NonResourceRequest,
  ask: Ask,
) => ActingUser

/** Of so many senders the mode by which they may impersonate is kept. */
const MOST_SENDERS = 10_000

/**
 * Returns what impersonates. Each mode that applies is tried, first the one by which the sender could before: so a
 * sender who may do it without constraints costs no more questions than before there were any. What is thrown is the
 * refusal of the mode that was tried first. Source: apiserver pkg/endpoints/filters/impersonation.
 */
export function createImpersonate(): Impersonate {
  const lastModes = new Map<string, ImpersonationMode>()
  const kept = (sender: string, mode: ImpersonationMode): void => {
    if (lastModes.get(sender) === mode) return
    lastModes.delete(sender)
    if (lastModes.size >= MOST_SENDERS) lastModes.delete(lastModes.keys().next().value!)
    lastModes.set(sender, mode)
  }
  return (sender, headers, attributes, ask) => {
    const wanted = wantedUser(headers)
    if (wanted === undefined) return { user: sender }
    const attempt = { sender, wanted, attributes, ask }
    const last = lastModes.get(sender.name)
    const modes =
      last === undefined ? IMPERSONATION_MODES : [last, ...IMPERSONATION_MODES.filter((one) => one !== last)]
    let first: ApiError | undefined
    for (const mode of modes) {
      if (!mode.applies(attempt)) continue
      try {
        const user = actingBy(mode, attempt)
        kept(sender.name, mode)
        return { user, constraint: mode.name === undefined ? undefined : `impersonate:${mode.name}` }
      } catch (err) {
        if (!(err instanceof ApiError)) throw err
        first ??= err
      }
    }
    throw first!
  }
}

/** Reads the headers. Returns undefined where they name nobody. @throws ApiError BadRequest for parts without a name */
function wantedUser({ header, headerNames }: Headers): WantedUser | undefined {
  const [name = ""] = header("impersonate-user")
  const groups = header("impersonate-group")
  const [uid = ""] = header("impersonate-uid")
  const values = new Map<string, readonly string[]>()
  for (const each of headerNames()) {
    if (!each.startsWith(EXTRA_PREFIX)) continue
    // Several headers can mean the same key: it may be escaped or not.
    const key = unescaped(each.slice(EXTRA_PREFIX.length))
    values.set(key, [...(values.get(key) ?? []), ...header(each)])
  }
  const extra = Object.fromEntries(values)
  const hasExtra = values.size > 0
  if (name !== "") return { name, groups, ...(uid === "" ? {} : { uid }), ...(hasExtra ? { extra } : {}) }
  if (groups.length > 0 || uid !== "" || hasExtra)
    throw badRequest(`requested ${goUser(groups, uid, extra)} without impersonating a user name`)
  return undefined
}

/** The user without a name as Go prints it: upstream's message shows it so. */
function goUser(groups: readonly string[], uid: string, extra: NonNullable<UserInfo["extra"]>): string {
  const strings = (values: readonly string[]) => `[]string{${values.map((value) => JSON.stringify(value)).join(", ")}}`
  const shownGroups = groups.length === 0 ? "[]string(nil)" : strings(groups)
  const entries = Object.entries(extra).map(([key, values]) => `${JSON.stringify(key)}:${strings(values)}`)
  const shownExtra = entries.length === 0 ? "map[string][]string(nil)" : `map[string][]string{${entries.join(", ")}}`
  return `&user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:${shownGroups}, Extra:${shownExtra}}`
}
