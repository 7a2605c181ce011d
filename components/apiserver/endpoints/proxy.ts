import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http"
import { request as httpsRequest } from "node:https"
import { connect as connectTcp } from "node:net"
import { Readable } from "node:stream"
import { connect as connectTls } from "node:tls"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { NodeConnector, NodeConnectors } from "../../../pkg/component/node-connector.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { isHttp2 } from "../../../pkg/runtime/listen.ts"
import type { Exchange, Upgrade } from "../http/exchange.ts"
import type { RequestInfo } from "../http/request-info.ts"
import { noSuchMethod } from "../http/resource-request.ts"
import { drained } from "../http/send-parts.ts"
import type { ConnectionEntry, Live } from "./connect.ts"
import { serveKubeletStream, streamTargetOf } from "./kubelet-streams.ts"
import { nodeTarget, podTarget, serviceTarget, type ProxyTarget } from "./proxy-target.ts"
import { rewriteHtml } from "./rewrite-html.ts"

const VERBS = ["get", "create", "update", "patch", "delete", ""]

/**
 * `pods/proxy`, `services/proxy` and `nodes/proxy`: requests passed on as they are to what runs in the cluster, upgrades included.
 * Source: apimachinery pkg/util/proxy/upgradeaware.go and transport.go.
 */
export function proxies({
  live,
  nodes,
  random,
}: {
  readonly live: Live
  readonly nodes: NodeConnectors
  readonly random: Random
}): Readonly<Record<string, ConnectionEntry>> {
  const entry = (target: (info: RequestInfo) => ProxyTarget): ConnectionEntry => ({
    verbs: VERBS,
    connect: (exchange, info) => pass(exchange, info, target(info), nodes),
  })
  return {
    "pods/proxy": entry((info) => podTarget(info, live)),
    "services/proxy": entry((info) => serviceTarget(info, live, random)),
    "nodes/proxy": {
      verbs: VERBS,
      async connect(exchange, info) {
        const target = nodeTarget(info, live)
        if (target.kubelet === undefined) return pass(exchange, info, target.address, nodes)
        const connector = nodes.get(target.kubelet)
        if (connector === undefined) throw unreachable(target.kubelet)
        const stream = STREAMED.includes(exchange.req.method ?? "") ? streamTargetOf(info) : undefined
        return stream === undefined
          ? askKubelet(exchange, info, target.kubelet, connector)
          : serveKubeletStream(exchange, info, stream, { node: target.kubelet, connector, live })
      },
    },
  }
}

const unreachable = (node: string): ApiError =>
  new ApiError(
    "ServiceUnavailable",
    `Cannot reach node ${JSON.stringify(node)}: its kubelet is not connected to this server`,
  )

/** The kubelet's own paths. An answer that takes its time, as a log that is followed does, is handed on as it comes. */
async function askKubelet(
  exchange: Exchange,
  info: RequestInfo,
  node: string,
  { proxy }: NodeConnector,
): Promise<void> {
  const {
    req: { method = "GET" },
    res,
  } = exchange
  if (proxy === undefined) throw unreachable(node)
  if (!ASKABLE.includes(method)) throw noSuchMethod()
  const gone = new AbortController()
  res.once("close", () => gone.abort())
  const response = await proxy(
    new Request(`http://node${pathAndQuery(info)}`, {
      method: method === "HEAD" ? "GET" : method,
      signal: gone.signal,
    }),
  )
  const { status, headers, body } = response
  const [type, allow] = [headers.get("content-type") ?? "text/plain", headers.get("allow")]
  if (body === null || method === "HEAD" || headers.get("transfer-encoding") !== "chunked") {
    return exchange.send(
      status,
      type,
      new Uint8Array(await response.arrayBuffer()),
      allow === null ? {} : { Allow: allow },
    )
  }
  res.writeHead(status, exchange.headers(type))
  // A log that is followed may say nothing for long: the client learns at once that it is open.
  res.write("")
  for await (const part of body) {
    if (res.destroyed) return
    if (!res.write(part)) await drained(res)
  }
  res.end()
}

/** Of the kubelet's streams. */
const STREAMED: readonly string[] = ["GET", "POST"]
const ASKABLE: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

const pathAndQuery = ({ rest, query }: RequestInfo): string =>
  query.raw === "" ? rest || "/" : `${rest || "/"}?${query.raw}`

/** The part of the path that stands for the target: what links in its pages must begin with. */
function prefixOf(exchange: Exchange, { rest }: RequestInfo): string {
  const [path = ""] = (exchange.req.url ?? "").split("?")
  return path.slice(0, path.length - rest.length)
}

function pass(exchange: Exchange, info: RequestInfo, target: ProxyTarget, nodes: NodeConnectors): Promise<void> {
  const { req, res, upgrade } = exchange
  const fetch = nodes.get(target.node ?? "")?.fetch
  if (upgrade !== undefined && fetch === undefined) return passUpgrade(exchange, info, target, upgrade)
  // Relative links of the page at the root only work under a path that ends in a slash.
  if (info.rest === "" && (req.method === "GET" || req.method === "HEAD")) {
    res.setHeader("Location", `${prefixOf(exchange, info)}/${info.query.raw === "" ? "" : `?${info.query.raw}`}`)
    exchange.sendText(301, "")
    return Promise.resolve()
  }
  if (fetch !== undefined) return passToSimulated(exchange, info, target, fetch)
  return new Promise((resolve, reject) => {
    const send = target.scheme === "https" ? httpsRequest : httpRequest
    // Certificates inside the cluster are nobody's to verify here, as upstream has it.
    const outgoing = send({
      host: target.host,
      port: target.port,
      method: req.method,
      path: pathAndQuery(info),
      headers: forwarded(exchange, target),
      rejectUnauthorized: false,
      agent: false,
    })
    outgoing.once("error", (err: Error) => {
      outgoing.destroy()
      if (res.headersSent) res.destroy()
      reject(new ApiError("ServiceUnavailable", `error trying to reach service: ${err.message}`))
    })
    outgoing.once("response", (incoming: IncomingMessage) => {
      incoming.once("error", () => res.destroy())
      res.once("close", () => {
        incoming.destroy()
        resolve()
      })
      answer(exchange, info, target, incoming)
    })
    res.once("close", () => outgoing.destroy())
    req.pipe(outgoing)
  })
}

/** To a pod that no connection leads to. It knows requests and answers only, so a wish to leave HTTP is answered as any other request. */
async function passToSimulated(
  exchange: Exchange,
  info: RequestInfo,
  target: ProxyTarget,
  fetch: NonNullable<NodeConnector["fetch"]>,
): Promise<void> {
  const { req, res } = exchange
  const { method = "GET" } = req
  const headers = Object.entries(forwarded(exchange, target)).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, String(one)]),
  )
  const parts: Buffer[] = []
  if (method !== "GET" && method !== "HEAD") for await (const part of req as AsyncIterable<Buffer>) parts.push(part)
  const gone = new AbortController()
  const closed = new Promise<void>((resolve) =>
    res.once("close", () => {
      gone.abort()
      resolve()
    }),
  )
  const url = `${target.scheme}://${target.host}:${target.port}${pathAndQuery(info)}`
  const response = await fetch(
    new Request(url, {
      method,
      headers,
      signal: gone.signal,
      ...(parts.length === 0 ? {} : { body: Buffer.concat(parts) }),
    }),
    target,
  ).catch((err: unknown) => {
    throw new ApiError(
      "ServiceUnavailable",
      `error trying to reach service: ${err instanceof Error ? err.message : String(err)}`,
    )
  })
  const cookies = response.headers.getSetCookie()
  const body = method === "HEAD" || response.body === null ? [] : response.body
  answer(
    exchange,
    info,
    target,
    Object.assign(Readable.from(body), {
      statusCode: response.status,
      headers: { ...Object.fromEntries(response.headers), ...(cookies.length === 0 ? {} : { "set-cookie": cookies }) },
    }),
  )
  await closed
}

/** What a target has answered. */
type Incoming = Readable & Pick<IncomingMessage, "statusCode" | "headers">

function answer(exchange: Exchange, info: RequestInfo, target: ProxyTarget, incoming: Incoming): void {
  const { res } = exchange
  const prefix = prefixOf(exchange, info)
  const headers: OutgoingHttpHeaders = { "Audit-Id": exchange.auditId }
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined && !HOP_BY_HOP.includes(name)) headers[name] = value
  if (typeof headers.location === "string") headers.location = relocated(headers.location, target, prefix)
  const isPage =
    (incoming.headers["content-type"] ?? "").startsWith("text/html") &&
    incoming.headers["content-encoding"] === undefined
  if (!isPage) {
    res.writeHead(incoming.statusCode ?? 502, headers)
    incoming.pipe(res)
    return
  }
  const parts: Buffer[] = []
  incoming.on("data", (part: Buffer) => parts.push(part))
  incoming.once("end", () => {
    const page = Buffer.from(rewriteHtml(Buffer.concat(parts).toString("latin1"), prefix), "latin1")
    delete headers["content-length"]
    res.writeHead(incoming.statusCode ?? 502, { ...headers, "content-length": String(page.length) })
    res.end(page)
  })
}

/** A redirect within the target has to stay under the proxy's path. */
function relocated(location: string, { host, port }: ProxyTarget, prefix: string): string {
  if (location.startsWith("/") && !location.startsWith("//"))
    return location.startsWith(prefix) ? location : prefix + location
  if (!URL.canParse(location)) return location
  const url = new URL(location)
  return url.hostname === host && Number(url.port || (url.protocol === "https:" ? 443 : 80)) === port
    ? prefix + url.pathname + url.search + url.hash
    : location
}

const HOP_BY_HOP: readonly string[] = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "te",
  "trailer",
  "upgrade",
]

/** The client's headers, without those that concern this connection or prove who the client is. */
function forwarded(exchange: Exchange, { host, port }: ProxyTarget): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(exchange.req.headers)) {
    if (
      value === undefined ||
      name.startsWith(":") ||
      name === "authorization" ||
      name === "host" ||
      name.startsWith("impersonate-") ||
      HOP_BY_HOP.includes(name)
    )
      continue
    headers[name] = value
  }
  headers.host = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`
  headers["x-forwarded-proto"] = "https"
  headers["x-forwarded-uri"] = exchange.req.url ?? "/"
  const original = exchange.req.headers.host ?? exchange.req.headers[":authority"]
  if (typeof original === "string") headers["x-forwarded-host"] = original
  // A body of unknown length arrives over HTTP/2 without saying so.
  if (
    isHttp2(exchange.res) &&
    headers["content-length"] === undefined &&
    exchange.req.method !== "GET" &&
    exchange.req.method !== "HEAD"
  )
    headers["transfer-encoding"] = "chunked"
  return headers
}

/** Joins the two connections; what the target answers goes to the client as it is. */
function passUpgrade(
  exchange: Exchange,
  info: RequestInfo,
  target: ProxyTarget,
  { socket, head, answer: pending }: Upgrade,
): Promise<void> {
  const { req } = exchange
  const remote =
    target.scheme === "https"
      ? connectTls({ host: target.host, port: target.port, rejectUnauthorized: false })
      : connectTcp({ host: target.host, port: target.port })
  return new Promise((resolve, reject) => {
    remote.once("error", (err: Error) => {
      if (pending.headersSent) socket.destroy()
      reject(new ApiError("ServiceUnavailable", `error trying to reach service: ${err.message}`))
    })
    remote.once(target.scheme === "https" ? "secureConnect" : "connect", () => {
      pending.upgraded()
      const headers = { ...forwarded(exchange, target), connection: "Upgrade", upgrade: req.headers.upgrade ?? "" }
      const lines = Object.entries(headers).flatMap(([name, value]) =>
        [value ?? []].flat().map((one) => `${name}: ${one}\r\n`),
      )
      remote.write(`${req.method} ${pathAndQuery(info)} HTTP/1.1\r\n${lines.join("")}\r\n`)
      if (head.length > 0) remote.write(head)
      socket.pipe(remote)
      remote.pipe(socket)
      const over = () => {
        remote.destroy()
        socket.destroy()
        resolve()
      }
      remote.once("close", over)
      socket.once("close", over)
    })
  })
}
