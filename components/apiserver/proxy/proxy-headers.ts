import type { OutgoingHttpHeaders } from "node:http"
import { joinHostPort } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { isHttp2, remoteAddress } from "../../../pkg/runtime/http/listen.ts"
import { protocolsWithoutToken } from "../../../pkg/streaming/websocket-token.ts"
import type { Exchange } from "../call/exchange.ts"

/**
 * Headers of a single connection, which a proxy does not pass on. Source: RFC 9110 7.6.1, Go's httputil.ReverseProxy.
 */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

/** Headers that authenticate the client to this server. A target that got them could act as the client. */
const isCredential = (name: string): boolean =>
  name === "authorization" || name.startsWith("impersonate-") || /^x-remote-(user|uid|group|extra-.*)$/.test(name)

/** The target of a request. */
export interface ForwardedTo {
  readonly scheme: "http" | "https"
  readonly host: string
  readonly port: number
}

/** Response headers that only this server may set: CORS headers and the Audit-Id. */
const isOurs = (name: string): boolean =>
  name === "audit-id" || /^access-control-allow-(credentials|headers|methods|origin)$/.test(name)

/**
 * Returns the client's headers for the target of a proxy: without those of the client's connection, and without its
 * credentials. `uri` is the path of the request on this server, for X-Forwarded-Uri. `target` is where the request
 * goes, for X-Forwarded-Host and -Proto, which upstream sets to that; without it the client's stay. Cookies stay: they
 * are between the client and the target. Source: apimachinery pkg/util/proxy/transport.go and upgradeaware.go. Differs
 * from upstream: a bearer token among the subprotocols of a WebSocket is removed even if the client authenticated in
 * another way.
 */
export function headersToTarget({ req, res }: Exchange, uri: string, target?: ForwardedTo): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {}
  const dropped = namedInConnection(req.headers.connection)
  for (const [name, value] of Object.entries(req.headers)) {
    // This server has answered `Expect` itself.
    if (value === undefined || name.startsWith(":") || name === "expect") continue
    if (HOP_BY_HOP.has(name) || dropped.has(name) || isCredential(name)) continue
    headers[name] = value
  }
  const protocols = headers["sec-websocket-protocol"]
  if (protocols !== undefined) {
    const kept = protocolsWithoutToken([protocols].flat().map(String))
    if (kept === undefined) delete headers["sec-websocket-protocol"]
    else headers["sec-websocket-protocol"] = kept
  }
  const authority = req.headers[":authority"]
  if (typeof authority === "string") headers.host = authority
  headers["x-forwarded-uri"] = uri
  if (target !== undefined) {
    headers["x-forwarded-host"] = joinHostPort(target.host, target.port)
    headers["x-forwarded-proto"] = target.scheme
  }
  const from = remoteAddress(req)
  const before = req.headers["x-forwarded-for"]
  if (from !== undefined) headers["x-forwarded-for"] = before === undefined ? from : `${String(before)}, ${from}`
  // Without this header the HTTP client would send the body of a DELETE without marking its end. Over HTTP/2 a request
  // may have a body without any header that says so.
  const hasBody =
    req.headers["transfer-encoding"] !== undefined || (isHttp2(res) && !["GET", "HEAD"].includes(req.method ?? ""))
  if (hasBody && headers["content-length"] === undefined) headers["transfer-encoding"] = "chunked"
  return headers
}

/** Returns the headers of a target's response for the client. */
export function headersToClient(
  { auditId }: Exchange,
  incoming: Readonly<Record<string, string | string[] | undefined>>,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { "Audit-Id": auditId }
  const dropped = namedInConnection(incoming["connection"])
  for (const [name, value] of Object.entries(incoming))
    if (value !== undefined && !HOP_BY_HOP.has(name) && !dropped.has(name) && !isOurs(name)) headers[name] = value
  return headers
}

/** A Connection header may name more headers of a single connection. */
const namedInConnection = (value: string | string[] | undefined): ReadonlySet<string> =>
  new Set([value ?? []].flat().flatMap((line) => line.split(",").map((name) => name.trim().toLowerCase())))
