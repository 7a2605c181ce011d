/** A transport over HTTP, with any implementation of HTTP beneath it: JSON bodies, watches as streams of lines. */
import { StringDecoder } from "node:string_decoder"
import { ApiError, type Status } from "../apimachinery/errors.ts"
import type { KubeObject, Resource } from "../apimachinery/resource.ts"
import { errorMessage } from "../errors/error-message.ts"
import type { ApiCall, Transport, Watch, WatchEvent, WatchHandlers, WatchOptions } from "./client.ts"
import { bodyOf, METHOD, PATCH_TYPE, pathOf, queryOf } from "./paths.ts"

export interface HttpCall {
  readonly method: string
  /** The path with its query. */
  readonly path: string
  readonly body?: { readonly text: string; readonly contentType: string }
  readonly signal?: AbortSignal | undefined
}

export interface HttpAnswer {
  readonly code: number
  readonly body: AsyncIterable<Uint8Array>
  /** The value of the header Retry-After, where it is a number. */
  readonly retryAfterSeconds?: number
}

/** A request in progress. */
export interface Sent {
  /** The response. Rejects with an ApiError when none arrives. */
  readonly answer: Promise<HttpAnswer>
  /** Aborts the request or the reading of its response. No callback is called after that. */
  abort(): void
}

export interface JsonTransportOptions {
  /** The name of the server in errors. */
  readonly server: string
  send(call: HttpCall): Sent
  /** The most characters of a response, and of one event of a watch, that are read; unlimited by default. */
  readonly longest?: number
}

export function jsonTransport({ server, send, longest = Infinity }: JsonTransportOptions): Transport {
  return {
    async call(call: ApiCall, signal?: AbortSignal): Promise<unknown> {
      const body = bodyOf(call)
      const contentType = call.patch === undefined ? "application/json" : PATCH_TYPE[call.patch.type]
      const { answer } = send({
        method: METHOD[call.verb],
        path: pathOf(call.resource, call) + queryOf(call.options ?? {}),
        ...(body === undefined ? {} : { body: { text: JSON.stringify(body), contentType } }),
        signal,
      })
      const response = await answer
      const text = await textOf(response)
      if (response.code >= 300) throw errorOf(response, text)
      const value = parsed(text)
      return call.verb === "list" ? withKinds(call.resource, value) : value
    },
    watch: startWatch,
  }

  function startWatch(resource: Resource, options: WatchOptions, handlers: WatchHandlers<KubeObject>): Watch {
    // Aborted by hand, because an abort signal raises errors on streams that have no listener any more.
    let sent: Sent | undefined
    let ended = false
    const end = (error: ApiError | undefined) => {
      if (ended) return
      ended = true
      sent?.abort()
      handlers.onEnd(error)
    }
    const follow = async () => {
      const path = `${pathOf(resource, { namespace: options.namespace })}${queryOf(options)}`
      sent = send({ method: "GET", path: `${path}${path.includes("?") ? "&" : "?"}watch=true` })
      const response = await sent.answer
      if (response.code !== 200) throw errorOf(response, await textOf(response))
      for await (const line of linesOf(response)) {
        if (ended) return
        const event = parsed(line) as WatchEvent | { readonly type: "ERROR"; readonly object: Status }
        if (event.type === "ERROR")
          return end("object" in event ? ApiError.fromStatus(event.object as Status) : event.error)
        handlers.onEvent(event as WatchEvent)
      }
      end(undefined)
    }
    // An error here is usual: most watches end because their connection breaks.
    follow().catch((err: unknown) => end(err instanceof ApiError ? err : unreachable(server, err)))
    return {
      close() {
        ended = true
        sent?.abort()
      },
    }
  }

  async function textOf({ body }: HttpAnswer): Promise<string> {
    const decoder = new StringDecoder("utf8")
    let text = ""
    try {
      for await (const chunk of body) if ((text += decoder.write(Buffer.from(chunk))).length > longest) throw tooLong()
    } catch (err) {
      throw err instanceof ApiError ? err : unreachable(server, err)
    }
    return text + decoder.end()
  }

  async function* linesOf({ body }: HttpAnswer): AsyncGenerator<string> {
    const decoder = new StringDecoder("utf8")
    let rest = ""
    for await (const chunk of body) {
      const lines = (rest + decoder.write(Buffer.from(chunk))).split("\n")
      rest = lines.pop() ?? ""
      if (rest.length > longest) throw tooLong()
      for (const line of lines) if (line !== "") yield line
    }
  }

  function parsed(text: string): unknown {
    try {
      return JSON.parse(text)
    } catch (cause) {
      throw new ApiError(
        "InternalError",
        `Cannot read the answer of ${server}: it is not JSON`,
        { causes: [{ reason: "UnexpectedServerResponse", message: text.slice(0, 200) }] },
        { cause },
      )
    }
  }

  function tooLong(): ApiError {
    return new ApiError("InternalError", `Cannot read the answer of ${server}: it is longer than ${longest} characters`)
  }
}

/** Returns the list with apiVersion and kind in each item, which the wire leaves out. */
function withKinds({ apiVersion, kind }: Resource, list: unknown): unknown {
  const { items, ...rest } = list as { readonly items?: readonly KubeObject[] | null }
  return {
    ...rest,
    items: (items ?? []).map((item) => (item.kind === undefined ? { ...item, apiVersion, kind } : item)),
  }
}

function errorOf({ code }: HttpAnswer, text: string): ApiError {
  try {
    const status = JSON.parse(text) as Status
    // Servers answer requests that exceeded their time limit with a Status without a kind.
    if (status.kind === "Status" || (status.kind === undefined && status.status === "Failure"))
      return ApiError.fromStatus(status)
  } catch {
    // The body is not from an API server, or is an error page of a proxy. The error below says so.
  }
  return new ApiError("InternalError", `the server answered ${code}: ${text.slice(0, 200)}`, undefined, { code })
}

/** Returns the error for a server that cannot be reached. */
export const unreachable = (server: string, cause: unknown): ApiError =>
  new ApiError("ServiceUnavailable", `Cannot reach ${server}: ${errorMessage(cause)}`, undefined, { cause })
