import { joinHostPort } from "../../../pkg/apimachinery/addresses/cidr.ts"
import {
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
} from "node:http"
import { request as httpsRequest } from "node:https"
import { pipeline, Readable, type Duplex, type Transform } from "node:stream"
import { createGunzip, createGzip } from "node:zlib"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { NodeConnector } from "../../../pkg/component/node-connector.ts"
import type { ServerAnswer } from "../../../pkg/runtime/http/server-request.ts"
import { connectionWords } from "../../../pkg/errors/connection-words.ts"
import { dialFailure } from "./dial-failure.ts"
import type { Exchange } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { headersToClient, headersToTarget } from "./proxy-headers.ts"
import { pathToTarget, prefixOf, throughProxy } from "./proxy-path.ts"
import { unreachable, type ProxyTarget } from "./proxy-target.ts"
import { HtmlLinks } from "./rewrite-html.ts"

/**
 * Passes a request to a target and streams its response back. Neither is held in memory as a whole, and a slow side
 * slows down the other. Source: apimachinery pkg/util/proxy/transport.go.
 */
export function passRequest(exchange: Exchange, info: RequestInfo, target: ProxyTarget): Promise<void> {
  const outgoing = requestTo(target, {
    method: exchange.req.method ?? "GET",
    path: pathToTarget(info),
    headers: headersToTarget(exchange, forwardedUri(exchange, info), target),
  })
  exchange.req.pipe(outgoing)
  return relay(exchange, outgoing, {
    answer: (incoming) => passPage(exchange, info, target, incoming),
    errorOf: (err) => dialError(err, target),
  })
}

export interface Relayed {
  /** Passes the target's response on; an error it throws fails the request. */
  answer(incoming: Incoming): void
  /** Returns the error for the client when the connection fails. */
  errorOf(err: NodeJS.ErrnoException): unknown
}

/** Waits for a target's response and passes it on. The promise resolves when the client's response is closed. */
export function relay(exchange: Exchange, outgoing: ClientRequest, { answer, errorOf }: Relayed): Promise<void> {
  const { res } = exchange
  return new Promise((resolve, reject) => {
    const failed = (err: unknown) => {
      outgoing.destroy()
      if (res.headersSent) res.destroy()
      reject(err)
    }
    // The listener stays until the end, because a failed connection can report more errors.
    outgoing.on("error", (err) => failed(errorOf(err)))
    outgoing.once("response", (incoming: IncomingMessage) => {
      res.once("close", () => {
        incoming.destroy()
        resolve()
      })
      try {
        answer(incoming)
      } catch (err) {
        failed(err)
      }
    })
    outgoing.once("upgrade", (_incoming, remote: Duplex) => {
      remote.on("error", () => {})
      remote.destroy()
      failed(unreachable("the target switched protocols without a request to do so"))
    })
    res.once("close", () => outgoing.destroy())
  })
}

/** Opens a request on a new connection. Certificates inside the cluster are not verified, as upstream. */
export function requestTo(target: ProxyTarget, options: RequestOptions): ClientRequest {
  const all = { host: target.host, port: target.port, agent: false, ...options }
  return target.scheme === "https" ? httpsRequest({ ...all, rejectUnauthorized: false }) : httpRequest(all)
}

/** Describes a failed connection in Go's words, which clients of upstream know. */
export function dialError(err: NodeJS.ErrnoException, { host, port }: ProxyTarget): ApiError {
  const remote = joinHostPort(host, port)
  return unreachable(dialFailure(err.code, remote) ?? connectionWords(err, { remote }) ?? err.message)
}

/** The URI of the client's request, which the target gets in a header. */
export const forwardedUri = (exchange: Exchange, info: RequestInfo): string =>
  `${prefixOf(exchange, info)}${info.rest || "/"}`

/** Passes a request to a simulated pod, which has no connections. An upgrade is handled as an ordinary request. */
export function passToSimulated(
  exchange: Exchange,
  info: RequestInfo,
  target: ProxyTarget,
  fetch: NonNullable<NodeConnector["fetch"]>,
): Promise<void> {
  const url = `${target.scheme}://${joinHostPort(target.host, target.port)}${pathToTarget(info)}`
  return passToFunction(exchange, {
    url,
    headers: headersToTarget(exchange, forwardedUri(exchange, info), target),
    call: (request) => fetch(request, target),
    answer: (incoming) => passPage(exchange, info, target, incoming),
  })
}

/** A request that a function answers. */
export interface FunctionCall {
  readonly url: string
  readonly headers: OutgoingHttpHeaders
  call(request: Request): Response | Promise<Response>
  /** Passes the response on. */
  answer(incoming: Incoming): void
}

/** Lets a function answer a request; both bodies are streams. */
export async function passToFunction(exchange: Exchange, { url, headers, call, answer }: FunctionCall): Promise<void> {
  const { req, res } = exchange
  const { method = "GET" } = req
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, String(one)]),
  )
  const gone = new AbortController()
  const closed = new Promise<void>((resolve) =>
    res.once("close", () => {
      gone.abort()
      resolve()
    }),
  )
  const body = method === "GET" || method === "HEAD" ? {} : { body: webStream(req), duplex: "half" as const }
  const request = new Request(url, { method, headers: fields, signal: gone.signal, ...body })
  const response = await (async () => call(request))().catch((err: unknown) => {
    throw unreachable(errorMessage(err))
  })
  const cookies = response.headers.getSetCookie()
  answer(
    Object.assign(Readable.from(method === "HEAD" || response.body === null ? [] : response.body), {
      statusCode: response.status,
      headers: { ...Object.fromEntries(response.headers), ...(cookies.length === 0 ? {} : { "set-cookie": cookies }) },
    }),
  )
  await closed
}

/** Turns a body into a web stream, which reads it on demand. */
function webStream(body: AsyncIterable<Buffer>): ReadableStream<Uint8Array> {
  const parts = body[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
  })
}

/** The response of a target. */
export type Incoming = Readable & Pick<IncomingMessage, "statusCode" | "headers">

/** Passes a response on, and rewrites addresses in HTML so that they lead through the proxy. */
function passPage(exchange: Exchange, info: RequestInfo, target: ProxyTarget, incoming: Incoming): void {
  const { req } = exchange
  const prefix = prefixOf(exchange, info)
  const hosts = [joinHostPort(target.host, target.port), req.headers.host ?? String(req.headers[":authority"] ?? "")]
  const rewrite = (address: string) => throughProxy(address, prefix, hosts)
  const headers = headersToClient(exchange, incoming.headers)
  if (typeof headers.location === "string") headers.location = rewrite(headers.location)
  const stages = req.method === "HEAD" ? [] : pageStages(incoming, rewrite)
  // The length of a rewritten page is not known yet.
  if (stages.length > 0) delete headers["content-length"]
  passAnswer(exchange, headers, incoming, stages)
}

/** Sends a response as it comes, through `stages`, which may rewrite it. */
export function passAnswer(
  { res }: Exchange,
  headers: OutgoingHttpHeaders,
  incoming: Incoming,
  stages: readonly Transform[] = [],
): void {
  incoming.on("error", () => res.destroy())
  writeHead(res, incoming.statusCode, headers)
  // The body may come slowly, so the client gets the head at once.
  res.write("")
  // Over HTTP/2 a response that can have no body, such as one of 204, has ended with its head; or the client has gone.
  if (res.destroyed) return void incoming.destroy()
  pipeline([incoming, ...stages, res], (err) => {
    // The head is sent, so the client can only see that the response breaks off.
    if (err) res.destroy()
  })
}

/** Sends the head of a target's response, which may be invalid in HTTP. @throws ApiError ServiceUnavailable */
export function writeHead(res: ServerAnswer, status: number | undefined, headers: OutgoingHttpHeaders): void {
  try {
    // HTTP/2 allows no other codes, and the final response cannot have a code below 200.
    if (status === undefined || status < 200 || status > 599) throw new Error(`status code ${status}`)
    res.writeHead(status, headers)
  } catch (err) {
    throw unreachable(`invalid response: ${errorMessage(err)}`)
  }
}

/**
 * Returns the stages that rewrite an HTML page. A page in an encoding other than gzip, or a part of a page, is not
 * rewritten.
 */
function pageStages(
  { headers, statusCode }: Pick<Incoming, "headers" | "statusCode">,
  rewrite: (address: string) => string,
): readonly Transform[] {
  const [type = ""] = (headers["content-type"] ?? "").split(";")
  if (type.trim().toLowerCase() !== "text/html" || statusCode === 206 || headers.location !== undefined) return []
  const links = new HtmlLinks(rewrite)
  switch (headers["content-encoding"] ?? "") {
    case "":
      return [links]
    case "gzip":
      return [createGunzip(), links, createGzip({ level: 1 })]
    default:
      return []
  }
}
