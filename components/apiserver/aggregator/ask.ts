import type { IncomingMessage } from "node:http"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { connectionFailure } from "../proxy/connection-failure.ts"
import type { UserInfo } from "../call/request.ts"
import type { RemoteService } from "./api-services.ts"
import type { ExtensionConnections } from "./connections.ts"
import { functionBehind, type FindExtensionServer } from "./extension-server.ts"
import { remoteUserHeaders } from "./remote-user.ts"
import { onUnwantedUpgrade } from "../../../pkg/runtime/http/unwanted-upgrade.ts"

/** A request of this server's own to the server of an APIService. */
export interface Question {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly user: UserInfo
  readonly timeoutMs: number
  /** The largest response that is read, in bytes. */
  readonly mostBytes: number
}

export interface ExtensionAnswer {
  readonly code: number
  /** Returns a header by its lower-case name. */
  header(name: string): string | undefined
  readonly body: Buffer
}

/** Sends a GET to the server of an APIService. Redirects are not followed. @throws Error with Go's message */
export type Ask = (service: RemoteService, question: Question) => Promise<ExtensionAnswer>

/** Returns a function that sends requests over HTTPS, or calls the function that takes the server's place. */
export function createAsk({
  connections,
  functions,
  clock,
}: {
  readonly connections: ExtensionConnections
  readonly functions: FindExtensionServer
  readonly clock: Clock
}): Ask {
  return (service, question) => {
    const call = functionBehind(service, functions)
    return call === undefined
      ? overHttps(connections, service, question, clock)
      : ofFunction(clock, question, (request) => call(request, question.user))
  }
}

function overHttps(
  connections: ExtensionConnections,
  service: RemoteService,
  { path, headers = {}, user, timeoutMs, mostBytes }: Question,
  clock: Clock,
): Promise<ExtensionAnswer> {
  return new Promise((resolve, reject) => {
    const address = connections.addressOf(service)
    const outgoing = connections.open(service, {
      method: "GET",
      path,
      headers: { ...headers, ...remoteUserHeaders(user) },
    })
    const timer = clock.setTimeout(() => failed(new Error("context deadline exceeded")), timeoutMs)
    const failed = (err: Error) => {
      timer.cancel()
      reject(err)
      outgoing.destroy()
    }
    outgoing.on("error", (err: NodeJS.ErrnoException) => failed(new Error(connectionFailure(err, address))))
    onUnwantedUpgrade(outgoing, failed)
    outgoing.once("response", (incoming: IncomingMessage) => {
      const parts: Buffer[] = []
      let bytes = 0
      incoming.on("data", (part: Buffer) => {
        parts.push(part)
        if ((bytes += part.length) > mostBytes) failed(tooLarge(mostBytes))
      })
      incoming.on("error", failed)
      incoming.once("end", () => {
        timer.cancel()
        resolve({
          code: incoming.statusCode ?? 0,
          header: (name) => [incoming.headers[name] ?? []].flat()[0],
          body: Buffer.concat(parts),
        })
      })
    })
    outgoing.end()
  })
}

async function ofFunction(
  clock: Clock,
  { path, headers = {}, timeoutMs, mostBytes }: Question,
  call: (request: Request) => Response | Promise<Response>,
): Promise<ExtensionAnswer> {
  const late = Promise.withResolvers<never>()
  const gone = new AbortController()
  const timer = clock.setTimeout(() => {
    late.reject(new Error("context deadline exceeded"))
    gone.abort()
  }, timeoutMs)
  try {
    const request = new Request(`http://localhost${path}`, { headers, signal: gone.signal })
    const response = await Promise.race([(async () => call(request))(), late.promise])
    const body = Buffer.from(await Promise.race([response.arrayBuffer(), late.promise]))
    if (body.length > mostBytes) throw tooLarge(mostBytes)
    return { code: response.status, header: (name) => response.headers.get(name) ?? undefined, body }
  } finally {
    timer.cancel()
  }
}

const tooLarge = (mostBytes: number): Error => new Error(`the answer is larger than ${mostBytes} bytes`)
