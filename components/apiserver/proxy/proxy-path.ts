import type { Exchange } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"

/** Returns the path and query of the request to a proxy's target. */
export const pathToTarget = ({ rest, query }: RequestInfo): string =>
  query.raw === "" ? rest || "/" : `${rest || "/"}?${query.raw}`

/** Returns the part of the request's path that stands for the target: the prefix of links in its pages. */
export function prefixOf({ req }: Exchange, { rest }: RequestInfo): string {
  const [path = ""] = (req.url ?? "").split("?")
  return path.slice(0, path.length - rest.length)
}

/**
 * Rewrites a link or redirect of a target so that clients come back through the proxy under `prefix`. Links to other
 * sites and relative links stay. `hosts` are the names under which the target's own host may appear. Source:
 * apimachinery pkg/util/proxy/transport.go rewriteURL.
 */
export function throughProxy(link: string, prefix: string, hosts: readonly string[]): string {
  if (link.startsWith("/") && !link.startsWith("//")) return isUnder(link, prefix) ? link : prefix + link
  const host = /^(?:https?:)?\/\/([^/?#]*)/i.exec(link)
  if (host === null || !hosts.includes(host[1]!.toLowerCase())) return link
  const path = link.slice(host[0].length)
  return path.startsWith("/") && !isUnder(path, prefix) ? prefix + path : path === "" ? link : path
}

const isUnder = (path: string, prefix: string): boolean =>
  path.startsWith(prefix) && (path.length === prefix.length || "/?#".includes(path[prefix.length]!))
