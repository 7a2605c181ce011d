/**
 * The way to an API server over HTTP(S), for other processes: JSON, kept-alive connections, watches as streams of
 * lines. node:https and not fetch, whose TLS trust holds for the whole process on Bun: two clusters with different
 * authorities would clash.
 */
import { Buffer } from "node:buffer"
import { readFileSync } from "node:fs"
import {
  request as httpRequest,
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions as NodeRequestOptions,
} from "node:http"
import { Agent as HttpsAgent, request as httpsRequest } from "node:https"
import { StringDecoder } from "node:string_decoder"
import { ApiError, type Status } from "../apimachinery/errors.ts"
import type { KubeObject, Resource } from "../apimachinery/resource.ts"
import type { ApiCall, Transport, Watch, WatchEvent, WatchHandlers, WatchOptions } from "./client.ts"
import type { ClientConfig } from "./kubeconfig.ts"
import { bodyOf, METHOD, PATCH_TYPE, pathOf, queryOf } from "./paths.ts"

export interface HttpsTransportOptions {
  readonly config: ClientConfig
  /** The first part names the client in managedFields. */
  readonly userAgent: string
}

/** A transport that can be closed: its idle connections would keep the process alive. */
export interface HttpsTransport extends Transport {
  close(): void
}

export function createHttpsTransport({ config, userAgent }: HttpsTransportOptions): HttpsTransport {
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

  function send(
    method: string,
    path: string,
    body: string | undefined,
    contentType: string,
    signal: AbortSignal | undefined,
    onRequest?: (request: ClientRequest) => void,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
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
            : { "content-type": contentType, "content-length": String(Buffer.byteLength(body)) }),
        },
        ...(signal === undefined ? {} : { signal }),
      }
      const request = secure ? httpsRequest({ ...options, ...tls }, resolve) : httpRequest(options, resolve)
      request.on("error", (err) => reject(unreachable(config.server, err)))
      onRequest?.(request)
      request.end(body)
    })
  }

  return {
    async call(call: ApiCall, signal?: AbortSignal): Promise<unknown> {
      const body = bodyOf(call)
      const response = await send(
        METHOD[call.verb],
        pathOf(call.resource, call) + queryOf(call.options ?? {}),
        body === undefined ? undefined : JSON.stringify(body),
        call.patch === undefined ? "application/json" : PATCH_TYPE[call.patch.type],
        signal,
      )
      const text = await textOf(response, config.server)
      if ((response.statusCode ?? 0) >= 300) throw errorOf(response, text)
      const answer = parsed(text, config.server)
      return call.verb === "list" ? withKinds(call.resource, answer) : answer
    },
    watch: (resource, options, handlers) => startWatch(resource, options, handlers),
    close: () => agent.destroy(),
  }

  function startWatch(resource: Resource, options: WatchOptions, handlers: WatchHandlers<KubeObject>): Watch {
    // Torn down by hand: an abort signal raises errors on streams that nobody reads any more.
    let request: ClientRequest | undefined
    let ended = false
    const end = (error: ApiError | undefined) => {
      if (ended) return
      ended = true
      request?.destroy()
      handlers.onEnd(error)
    }
    const follow = async () => {
      const path = `${pathOf(resource, { namespace: options.namespace })}${queryOf(options)}`
      const response = await send(
        "GET",
        `${path}${path.includes("?") ? "&" : "?"}watch=true`,
        undefined,
        "",
        undefined,
        (made) => void (request = made),
      )
      if (response.statusCode !== 200) throw errorOf(response, await textOf(response, config.server))
      // Closing tears the stream down after the loop has been left, when nobody listens any more.
      response.on("error", () => undefined)
      for await (const line of linesOf(response)) {
        if (ended) return
        const event = parsed(line, config.server) as WatchEvent | { readonly type: "ERROR"; readonly object: Status }
        if (event.type === "ERROR")
          return end("object" in event ? ApiError.fromStatus(event.object as Status) : event.error)
        handlers.onEvent(event as WatchEvent)
      }
      end(undefined)
    }
    // A connection that breaks off in the middle of a watch is how most of them end.
    follow().catch((err: unknown) => end(err instanceof ApiError ? err : unreachable(config.server, err)))
    return {
      close() {
        ended = true
        request?.destroy()
      },
    }
  }
}

async function textOf(response: IncomingMessage, server: string): Promise<string> {
  const decoder = new StringDecoder("utf8")
  let text = ""
  try {
    for await (const chunk of response) text += decoder.write(chunk as Buffer)
  } catch (err) {
    throw unreachable(server, err)
  }
  return text + decoder.end()
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8")
  let rest = ""
  for await (const chunk of response) {
    const lines = (rest + decoder.write(chunk as Buffer)).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) if (line !== "") yield line
  }
}

function parsed(text: string, server: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ApiError(
      "InternalError",
      `Cannot read the answer of ${server}: it is no JSON`,
      { causes: [{ reason: "UnexpectedServerResponse", message: text.slice(0, 200) }] },
      { cause },
    )
  }
}

/** Items of a list carry no kind on the wire. */
function withKinds({ apiVersion, kind }: Resource, list: unknown): unknown {
  const { items, ...rest } = list as { readonly items?: readonly KubeObject[] | null }
  return {
    ...rest,
    items: (items ?? []).map((item) => (item.kind === undefined ? { ...item, apiVersion, kind } : item)),
  }
}

function errorOf(response: IncomingMessage, text: string): ApiError {
  try {
    const status = JSON.parse(text) as Status
    if (status.kind === "Status") return ApiError.fromStatus(status)
  } catch {
    // Not from an API server, or a proxy's page: said below.
  }
  return new ApiError(
    "InternalError",
    `the server answered ${response.statusCode ?? 0}: ${text.slice(0, 200)}`,
    undefined,
    { code: response.statusCode ?? 500 },
  )
}

const unreachable = (server: string, cause: unknown): ApiError =>
  new ApiError(
    "ServiceUnavailable",
    `Cannot reach ${server}: ${cause instanceof Error ? cause.message : String(cause)}`,
    undefined,
    { cause },
  )
