/**
 * The transport to an API server over HTTP(S), for other processes: JSON, kept-alive connections, watches as streams of
 * lines. It uses node:https, since Bun's fetch has no keep-alive probes, and drops the last events of a watch whose
 * connection breaks.
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
import { trusting } from "../pki/trust.ts"
import { onUnwantedUpgrade } from "../runtime/http/unwanted-upgrade.ts"

export interface HttpsTransportOptions {
  readonly config: ClientConfig
  /** The User-Agent header. Its first part becomes the manager in managedFields. */
  readonly userAgent: string
  /**
   * After this many milliseconds of silence the kernel sends keep-alive probes: a connection to a machine without power
   * ends some ten seconds later. Without it no probes are sent.
   */
  readonly keepAliveMs?: number
}

/** A transport that can be closed. Until then its idle connections keep the process alive. */
export interface HttpsTransport extends Transport {
  close(): void
}

export function createHttpsTransport(options: HttpsTransportOptions): HttpsTransport {
  const { send, close } = createHttpsSender(options)
  return { ...jsonTransport({ server: options.config.server, send }), close }
}

/** Sends the requests of a transport, over its own connections. */
export interface HttpsSender {
  send(call: HttpCall): Sent
  /** Ends all connections and the requests on them. */
  close(): void
}

export function createHttpsSender({ config, userAgent, keepAliveMs }: HttpsTransportOptions): HttpsSender {
  const base = new URL(config.server)
  const secure = base.protocol === "https:"
  const tls = secure
    ? {
        ...config.certificate,
        ...(config.insecureSkipTlsVerify === true ? { rejectUnauthorized: false } : trusting(config.ca)),
        ...(config.tlsServerName === undefined ? {} : { servername: config.tlsServerName }),
      }
    : {}
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
        // After an abort the stream can raise an error when its reader, and so its listener, is gone.
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
