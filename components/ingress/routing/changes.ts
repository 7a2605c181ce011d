import type { Field } from "../messages/head.ts"
import type { IncomingRequest } from "../messages/messages.ts"
import { withoutSlashes } from "./normal-path.ts"
import type { FieldChanges, PathChange, Redirect } from "./target.ts"

/**
 * Returns the header fields with these changes. A name in `set` replaces fields of the same name, whatever their case.
 */
export function changedFields(fields: readonly Field[], changes: FieldChanges | undefined): readonly Field[] {
  if (changes === undefined) return fields
  const { set, add, remove } = changes
  const replaced = new Set(set.map(({ key }) => key))
  const kept = fields.filter(({ key }) => !replaced.has(key) && !remove.has(key))
  return [...kept, ...set, ...add]
}

/** Returns the trailers without those whose names are changed in the head: they would undo the change. */
export function unchangedTrailers(trailers: readonly Field[], changes: FieldChanges | undefined): readonly Field[] {
  if (changes === undefined || trailers.length === 0) return trailers
  const { set, add, remove } = changes
  const changed = new Set([...set, ...add].map(({ key }) => key))
  return trailers.filter(({ key }) => !changed.has(key) && !remove.has(key))
}

/** Returns a request target with another path and the same query. `path` is normalized by `normalPath`. */
export function changedTarget(target: string, path: string, change: PathChange): string {
  const query = target.indexOf("?")
  const tail = query < 0 ? "" : target.slice(query)
  if (change.kind === "full") return rooted(change.value) + tail
  const rest = path.slice(change.prefix)
  const start = rest === "" ? change.value : withoutSlashes(change.value)
  return rooted(start + rest) + tail
}

/**
 * Returns the Location of a redirect. Without `port` the location has the port of the scheme if the redirect names a
 * scheme, otherwise the port of the request. `path` is normalized by `normalPath`. Source: HTTPRequestRedirectFilter.
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
