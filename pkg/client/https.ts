/**
 * The transport to an API server over HTTP(S), for other processes: JSON, kept-alive connections, watches as streams of
 * lines. It uses node:https instead of fetch, because on Bun the TLS trust of fetch holds for the whole process: two
 * clusters with different authorities would clash.
 */
import { Buffer } from "node:buffer"
import { readFileSync } from "node:fs"
import {
  request as httpRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  type RequestOptions as NodeRequestOptions,
} from "node:http"
import { Agent as HttpsAgent, request as httpsRequest } from "node:https"
import type { Transport } from "./client.ts"
import { jsonTransport, unreachable, type HttpAnswer, type HttpCall, type Sent } from "./json-transport.ts"
import type { ClientConfig } from "./kubeconfig.ts"
import { onUnwantedUpgrade } from "../runtime/http/unwanted-upgrade.ts"

export interface HttpsTransportOptions {
  readonly config: ClientConfig
  /** The User-Agent; its first part is the manager in managedFields. */
  readonly userAgent: string
  /**
   * After how many milliseconds of silence the kernel begins to ask whether the server is still there: a connection to
   * a machine without power ends some ten seconds later. Never unless given.
   */
  readonly keepAliveMs?: number
}

/** A transport that can be closed, because its idle connections would keep the process alive. */
export interface HttpsTransport extends Transport {
  close(): void
}

export function createHttpsTransport(options: HttpsTransportOptions): HttpsTransport {
  const { send, close } = createHttpsSender(options)
  return { ...jsonTransport({ server: options.config.server, send }), close }
}

/** What sends the requests of a transport, over connections of its own. */
export interface HttpsSender {
  send(call: HttpCall): Sent
  /** Ends all connections, with the requests that they carry. */
  close(): void
}

export function createHttpsSender({ config, userAgent, keepAliveMs }: HttpsTransportOptions): HttpsSender {
  const base = new URL(config.server)
  const secure = base.protocol === "https:"
  const tls = {
    ...(config.ca === undefined ? {} : { ca: config.ca }),
    ...config.certificate,
    ...(config.insecureSkipTlsVerify === true ? { rejectUnauthorized: false } : {}),
    ...(config.tlsServerName === undefined ? {} : { servername: config.tlsServerName }),
  }
  const agent = secure ? new HttpsAgent({ keepAlive: true, ...tls }) : new HttpAgent({ keepAlive: true })
  const headers = () => {
    const token = config.tokenFile === undefined ? config.token : readFileSync(config.tokenFile, "utf8").trim()
    return {
      accept: "application/json",
      "user-agent": userAgent,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    }
  }

  function send({ method, path, body, signal }: HttpCall): Sent {
    const options: NodeRequestOptions = {
      agent,
      method,
      host: base.hostname.replace(/^\[|\]$/g, ""),
      port: base.port === "" ? (secure ? 443 : 80) : Number(base.port),
      path: (base.pathname === "/" ? "" : base.pathname) + path,
      headers: {
        ...headers(),
        ...(body === undefined
          ? {}
          : { "content-type": body.contentType, "content-length": String(Buffer.byteLength(body.text)) }),
      },
      ...(signal === undefined ? {} : { signal }),
    }
    const request = secure ? httpsRequest({ ...options, ...tls }) : httpRequest(options)
    if (keepAliveMs !== undefined) request.once("socket", (socket) => void socket.setKeepAlive(true, keepAliveMs))
    const answer = new Promise<HttpAnswer>((resolve, reject) => {
      request.once("response", (incoming: IncomingMessage) => {
        // An abort can cause an error after the reader has left, when no listener is there any more.
        incoming.on("error", () => undefined)
        const wait = incoming.headers["retry-after"] ?? ""
        const retryAfterSeconds = /^\d{1,9}$/.test(wait) ? { retryAfterSeconds: Number(wait) } : {}
        resolve({ code: incoming.statusCode ?? 0, body: incoming, ...retryAfterSeconds })
      })
      const fail = (err: Error) => reject(unreachable(config.server, err))
      request.on("error", fail)
      onUnwantedUpgrade(request, fail)
    })
    request.end(body?.text)
    return { answer, abort: () => request.destroy() }
  }

  return { send, close: () => agent.destroy() }
}
