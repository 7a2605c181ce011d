import { isAvailable } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Transport } from "../../../pkg/client/client.ts"
import { jsonTransport, type HttpAnswer, type HttpCall, type Sent } from "../../../pkg/client/json-transport.ts"
import { connectionFailure } from "../proxy/connection-failure.ts"
import type { UserInfo } from "../call/request.ts"
import type { RemoteService } from "./api-services.ts"
import type { ExtensionConnections } from "./connections.ts"
import { functionBehind, type FindExtensionServer } from "./extension-server.ts"
import { remoteUserHeaders } from "./remote-user.ts"
import { onUnwantedUpgrade } from "../../../pkg/runtime/http/unwanted-upgrade.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"

/** The longest response and the longest watch event that a component of this process reads, in characters. */
const LONGEST = 64 * 1024 * 1024

export interface RemoteTransportOptions {
  /** Returns the APIService of `<group>/<version>` when an extension server serves it. */
  readonly remoteOf: (groupVersion: string) => RemoteService | undefined
  readonly connections: ExtensionConnections
  readonly functions: FindExtensionServer
}

/** Sends requests of this process's components to extension servers, as `user`. The requests were authorized before. */
export const remoteTransport = (options: RemoteTransportOptions, user: UserInfo): Transport =>
  jsonTransport({ server: "an extension API server", longest: LONGEST, send: (call) => send(call, user, options) })

function send(call: HttpCall, user: UserInfo, { remoteOf, connections, functions }: RemoteTransportOptions): Sent {
  const service = remoteOf(groupVersionOf(call.path))
  if (service === undefined)
    return failing(new ApiError("NotFound", "the server could not find the requested resource"))
  if (!isAvailable(service)) return failing(new ApiError("ServiceUnavailable", "service unavailable"))
  const headers = {
    accept: "application/json",
    "user-agent": user.name,
    ...(call.body === undefined ? {} : { "content-type": call.body.contentType }),
  }
  const serve = functionBehind(service, functions)
  if (serve !== undefined) {
    const gone = new AbortController()
    call.signal?.addEventListener("abort", () => gone.abort(), { once: true })
    const request = new Request(`http://localhost${call.path}`, {
      method: call.method,
      headers,
      signal: gone.signal,
      ...(call.body === undefined ? {} : { body: call.body.text }),
    })
    const answer = (async () => serve(request, user))().then(
      ({ status, body }): HttpAnswer => ({ code: status, body: body ?? (async function* () {})() }),
      (err: unknown) => {
        throw unreachable(errorMessage(err))
      },
    )
    return { answer, abort: () => gone.abort() }
  }
  return overHttps(call, service, { ...headers, ...remoteUserHeaders(user) }, connections)
}

function overHttps(
  { method, path, body, signal }: HttpCall,
  service: RemoteService,
  headers: Readonly<Record<string, string | string[]>>,
  connections: ExtensionConnections,
): Sent {
  try {
    const address = connections.addressOf(service)
    const outgoing = connections.open(service, {
      method,
      path,
      headers: { ...headers, ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body.text) }) },
    })
    const abort = () => void outgoing.destroy()
    signal?.addEventListener("abort", abort, { once: true })
    const answer = new Promise<HttpAnswer>((resolve, reject) => {
      outgoing.once("response", (incoming) => {
        // An abort destroys the stream after its reader has stopped; without a listener that error would be uncaught.
        incoming.on("error", () => undefined)
        resolve({ code: incoming.statusCode ?? 0, body: incoming })
      })
      outgoing.on("error", (err) => reject(unreachable(connectionFailure(err, address))))
      onUnwantedUpgrade(outgoing, ({ message }) => reject(unreachable(message)))
    })
    // As bytes: if the body were a string, node:http would write the headers in UTF-8 too, though each of their
    // characters is one byte.
    outgoing.end(body === undefined ? undefined : Buffer.from(body.text))
    return { answer, abort }
  } catch (err) {
    return failing(unreachable((err as Error).message))
  }
}

const failing = (err: ApiError): Sent => ({ answer: Promise.reject(err), abort: () => undefined })
const unreachable = (why: string): ApiError =>
  new ApiError("ServiceUnavailable", `error trying to reach service: ${why}`)

/** Returns `<group>/<version>` of a path `/apis/<group>/<version>/…`. */
function groupVersionOf(path: string): string {
  const [, , group, version] = path.split("/")
  return `${group}/${version}`
}
