import type { Field } from "../http1/head.ts"
import type { IncomingRequest } from "../proxy/messages.ts"
import type { FieldChanges, PathChange, Redirect } from "./target.ts"

/** The fields with these changes: names to set replace fields of the same name, whatever their case. */
export function changedFields(fields: readonly Field[], changes: FieldChanges | undefined): readonly Field[] {
  if (changes === undefined) return fields
  const { set, add, remove } = changes
  const replaced = new Set(set.map(({ key }) => key))
  const kept = fields.filter(({ key }) => !replaced.has(key) && !remove.has(key))
  return [...kept, ...set, ...add]
}

/** A request's target with another path. `path` is its path as routes compare it; the query stays. */
export function changedTarget(target: string, path: string, change: PathChange): string {
  const query = target.indexOf("?")
  const tail = query < 0 ? "" : target.slice(query)
  if (change.kind === "full") return rooted(change.value) + tail
  const rest = path.slice(change.prefix)
  const start = rest === "" ? change.value : change.value.replace(/\/+$/, "")
  return rooted(start + rest) + tail
}

/**
 * The address that a client is sent to. Without a port it is the port of the scheme where the redirect names a scheme,
 * else that on which the request came. `path` as `normalPath` gives it. Source: HTTPRequestRedirectFilter.
 */
export function locationOf(
  { scheme, hostname, port, path: change }: Redirect,
  { target, authority, origin }: Pick<IncomingRequest, "target" | "authority" | "origin">,
  path: string,
): string {
  const own = origin.isSecure ? "https" : "http"
  const wanted = scheme ?? own
  const standard = wanted === "https" ? 443 : 80
  const number = port ?? (scheme === undefined ? origin.port : standard)
  const name = hostname ?? authority.replace(/:\d*$/, "")
  const rest = change === undefined ? target : changedTarget(target, path, change)
  return `${wanted}://${name}${number === standard ? "" : `:${number}`}${rest}`
}

const rooted = (path: string): string => (path.startsWith("/") ? path : `/${path}`)
