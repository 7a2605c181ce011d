import { Buffer } from "node:buffer"
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http"
import { Agent, request as httpsRequest } from "node:https"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { passOn } from "../../runtime/http/pass-on.ts"
import { onUnwantedUpgrade } from "../../runtime/http/unwanted-upgrade.ts"
import type { HttpRequest, HttpResponse, TlsOptions } from "./connect.ts"
import { dialError } from "./dial-error.ts"
import { errorCode } from "./files.ts"
import { expiredError, isExpired } from "./expired-certificate.ts"
import { hostOf, portOf, tlsOf } from "./host-address.ts"

const AGENTS = new Map<string, Agent>()

/** The agent of one server and user, which keeps connections. */
function agentOf(tls: TlsOptions): Agent {
  const key = JSON.stringify(tls)
  const known = AGENTS.get(key)
  if (known !== undefined) return known
  const agent = new Agent({ keepAlive: true })
  AGENTS.set(key, agent)
  return agent
}

/**
 * Sends a request over the module of Node, which takes four times the processor time of the runtime's fetch, but can
 * use a proxy of any kind, pass on bodies as they come, repeat a header, and says exactly why a connection failed.
 */
export async function sendOver(call: HttpRequest): Promise<HttpResponse> {
  const { method, url, headers, body, tls, signal } = call
  const isTls = url.protocol === "https:"
  if (!isTls && url.protocol !== "http:")
    throw new Error(`unsupported protocol scheme ${goQuoted(url.protocol.slice(0, -1))}`)
  const proxied = call.proxy === undefined ? {} : await proxyOptions(call)
  const options: RequestOptions = {
    method,
    host: hostOf(url),
    port: portOf(url),
    path: url.pathname + url.search,
    headers: {
      ...(headers as Record<string, string | string[]>),
      ...(body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(body)) }),
    },
    ...(signal === undefined ? {} : { signal }),
    ...proxied,
  }
  return new Promise((resolve, reject) => {
    const request = isTls ? httpsRequest({ ...options, ...tlsOf(tls, url), agent: agentOf(tls) }) : httpRequest(options)
    let local: string | undefined
    request.once("socket", (socket) => {
      const note = () => (local = `${socket.localAddress}:${socket.localPort}`)
      if (socket.connecting) socket.once("connect", note)
      else note()
    })
    let failure: Error | undefined
    const fail = (err: Error) => {
      failure = err
      if (signal?.aborted === true) reject(signal.reason as Error)
      else if (isExpired(err)) void expiredError(err, url).then(reject)
      else if (request.reusedSocket && isRepeatable(call) && errorCode(err) === "ECONNRESET") resolve(sendOver(call))
      else reject(dialError(err, url, local))
    }
    request.on("error", fail)
    onUnwantedUpgrade(request, fail)
    request.once("response", (incoming: IncomingMessage) => {
      incoming.on("error", () => undefined)
      const cut = () => (failure === undefined ? new Error("unexpected EOF") : dialError(failure, url, local))
      resolve(responseOf(incoming, cut))
    })
    if (call.parts === undefined) request.end(body)
    else void passOn(call.parts, request).catch((err: unknown) => request.destroy(err as Error))
  })
}

/**
 * Whether a request may be sent again over another connection, when the server has closed the one that was kept before
 * it has read the request. Source: Go net/http/request.go (isReplayable).
 */
const isRepeatable = ({ method, body, parts }: HttpRequest): boolean =>
  ["GET", "HEAD", "OPTIONS", "TRACE"].includes(method) && body === undefined && parts === undefined

async function proxyOptions({ url, tls, proxy }: HttpRequest): Promise<RequestOptions> {
  const { dialThroughProxy } = await import("./host-proxy.ts")
  const socket = await dialThroughProxy({ url, tls, proxy: proxy! })
  return { createConnection: () => socket, agent: false }
}

/** `cut` gives the error of a body that ends too early. */
function responseOf(incoming: IncomingMessage, cut: () => Error): HttpResponse {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value
  return {
    status: incoming.statusCode ?? 0,
    headers,
    warnings: incoming.headersDistinct?.["warning"] ?? [],
    protocol: `HTTP/${incoming.httpVersion}`,
    body: wholeBody(incoming, cut),
    cancel: () => void incoming.destroy(),
  }
}

async function* wholeBody(incoming: IncomingMessage, cut: () => Error): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const part of incoming) yield part as Uint8Array
  } catch (err) {
    throw errorCode(err) === "ECONNRESET" ? cut() : err
  }
}
