/** A transport to several servers of one cluster. It uses one server until that fails, then the next. */
import { ApiError } from "../apimachinery/errors.ts"
import type { Clock } from "../clock/clock.ts"
import type { HttpsSender, HttpsTransport } from "./https.ts"
import { jsonTransport, type HttpAnswer, type HttpCall, type Sent } from "./json-transport.ts"
import type { ServerList } from "./server-list.ts"

export interface FailoverOptions {
  readonly servers: ServerList
  readonly clock: Clock
  /** Opens a sender of requests to one server. */
  readonly connect: (server: string) => HttpsSender
  /** Called when a server refuses the credentials. */
  readonly unauthorized?: () => void
}

export interface FailoverTransport extends HttpsTransport {
  /** Ends all connections, for instance because the client certificate has been replaced since they began. */
  reconnect(): void
}

/** When a request is not answered after this many milliseconds, its server is probed. */
const SLOW_MS = 3000

/** Error codes of connections that were never made, so that the server cannot have received the request. */
const NOT_CONNECTED: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN",
  "ENETDOWN",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ConnectionRefused",
])

/**
 * Returns a transport that sends each request to the current server of the list. When that server cannot be reached, or
 * breaks the connection, the next one becomes the current server. A request is sent again only if the first server
 * cannot have received it, or if it only reads. A server that refuses with 503 and Retry-After, as one does that is
 * starting or has lost its store, has done nothing, so the next server is asked. Source: client-go rest/with_retry.go,
 * which sends such a request again whatever its verb.
 */
export function createFailoverTransport({ servers, clock, connect, unauthorized }: FailoverOptions): FailoverTransport {
  const senders = new Map<string, HttpsSender>()
  const drop = (server: string) => {
    const sender = senders.get(server)
    senders.delete(server)
    sender?.close()
  }
  const stopListening = servers.onFailed(drop)
  const reconnect = () => {
    for (const server of [...senders.keys()]) drop(server)
  }

  function send(call: HttpCall): Sent {
    let sent: Sent | undefined
    let isAborted = false
    const attempt = async (triesLeft: number): Promise<HttpAnswer> => {
      const server = servers.current
      let sender = senders.get(server)
      if (sender === undefined) senders.set(server, (sender = connect(server)))
      sent = sender.send(call)
      const slow = clock.setTimeout(() => servers.suspect(server), SLOW_MS, "upkeep")
      try {
        const answer = await sent.answer
        if (answer.code < 500) servers.answered()
        if (answer.code === 401) unauthorized?.()
        if (answer.code !== 503 || answer.retryAfterSeconds === undefined) return answer
        servers.refused(server)
        if (triesLeft <= 1 || servers.current === server) return answer
        sent.abort()
      } catch (err) {
        if (isAborted || call.signal?.aborted === true) throw err
        // A request that was ended because its server had already failed says nothing new about that server.
        if (senders.get(server) === sender) servers.failed(server)
        if (triesLeft > 1 && servers.current !== server && mayRepeat(call, err)) return await attempt(triesLeft - 1)
        throw err
      } finally {
        slow.cancel()
      }
      return await attempt(triesLeft - 1)
    }
    return {
      answer: attempt(servers.all.length),
      abort() {
        isAborted = true
        sent?.abort()
      },
    }
  }

  return {
    ...jsonTransport({ server: "the API server", send }),
    reconnect,
    close() {
      stopListening()
      reconnect()
    },
  }
}

function mayRepeat({ method }: HttpCall, err: unknown): boolean {
  if (method === "GET") return true
  const cause = err instanceof ApiError ? err.cause : err
  return NOT_CONNECTED.has((cause as { code?: unknown } | undefined)?.code)
}
