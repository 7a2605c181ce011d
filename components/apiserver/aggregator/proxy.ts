import type { Clock } from "../../../pkg/clock/clock.ts"
import { isAvailable } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import { isHttp2 } from "../../../pkg/runtime/http/listen.ts"
import type { Exchange } from "../call/exchange.ts"
import { connectionFailure } from "../proxy/connection-failure.ts"
import type { RequestInfo } from "../call/request-info.ts"
import { headersToClient, headersToTarget } from "../proxy/proxy-headers.ts"
import { passAnswer, passToFunction, relay, type Incoming } from "../proxy/proxy-pass.ts"
import { joinUpgrade, upgradeHeaders } from "../proxy/proxy-upgrade.ts"
import { noSuchResource } from "../call/subresource-verbs.ts"
import type { UserInfo } from "../call/request.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { RemoteService } from "./api-services.ts"
import { UnreachableServer, type ExtensionConnections } from "./connections.ts"
import { functionBehind, type FindExtensionServer } from "./extension-server.ts"
import { remoteUserHeaders } from "./remote-user.ts"

/** Timeout of discovery requests, which clients send before all others: a slow response would delay all clients. */
const DISCOVERY_TIMEOUT_MS = 5000

export interface ProxyOptions {
  readonly connections: ExtensionConnections
  readonly functions: FindExtensionServer
  readonly clock: Clock
}

/** An extension server did not respond; the message is sent to the client as text. */
class ProxyFailure extends Error {}

/**
 * Proxies a request to the server of an APIService, with the user in headers, and the response back. Both bodies are
 * streamed, and the connection may switch protocols. Redirects are refused, since the client would follow them with its
 * own credentials. Source: kube-aggregator pkg/apiserver/handler_proxy.go.
 */
export async function serveRemote(
  exchange: Exchange,
  info: RequestInfo,
  user: UserInfo,
  service: RemoteService,
  options: ProxyOptions,
): Promise<void> {
  if (LEADS_ELSEWHERE.test(pathOf(exchange))) throw noSuchResource()
  if (!isAvailable(service)) return exchange.sendText(503, "service unavailable\n")
  try {
    await pass(exchange, info, user, service, options)
  } catch (err) {
    if (exchange.res.headersSent) throw err
    if (err instanceof UnreachableServer) return exchange.sendText(err.code, `${err.message}\n`)
    exchange.sendText(503, `${errorMessage(err)}\n`)
  }
}

function pass(
  exchange: Exchange,
  info: RequestInfo,
  user: UserInfo,
  service: RemoteService,
  { connections, functions, clock }: ProxyOptions,
): Promise<void> {
  const { req, upgrade, auditId } = exchange
  const target = req.url ?? "/"
  const uri = pathOf(exchange)
  const behalf = { "audit-id": auditId, ...remoteUserHeaders(user) }
  const method = req.method ?? "GET"
  const call = functionBehind(service, functions)
  if (call !== undefined)
    return passToFunction(exchange, {
      url: `http://localhost${target}`,
      headers: { ...headersToTarget(exchange, uri), ...behalf },
      call: (request) => call(request, user),
      answer: (incoming) => answered(exchange, incoming),
    })
  const address = resolved(connections, service)
  if (upgrade !== undefined) {
    const headers = { ...upgradeHeaders(exchange, uri), ...behalf }
    const outgoing = connections.open(service, { method, path: target, headers, upgrade: true })
    return joinUpgrade(
      exchange,
      upgrade,
      outgoing,
      (err) => new ProxyFailure(`error dialing backend: ${connectionFailure(err, address)}`),
    )
  }
  const outgoing = connections.open(service, {
    method,
    path: target,
    headers: { ...headersToTarget(exchange, uri, { scheme: "https", ...address }), ...behalf },
  })
  const timer = isDiscovery(info)
    ? clock.setTimeout(() => outgoing.destroy(new Error("context deadline exceeded")), DISCOVERY_TIMEOUT_MS)
    : undefined
  if (hasBody(exchange)) req.pipe(outgoing)
  else outgoing.end()
  return relay(exchange, outgoing, {
    answer: (incoming) => answered(exchange, incoming),
    errorOf: (err) => new ProxyFailure(`error trying to reach service: ${connectionFailure(err, address)}`),
  }).finally(() => timer?.cancel())
}

/** Returns the address of the Service. A Service without one is answered like any other unavailable server. */
function resolved(connections: ExtensionConnections, service: RemoteService) {
  try {
    return connections.addressOf(service)
  } catch (err) {
    if (err instanceof UnreachableServer) throw new ProxyFailure("service unavailable")
    throw err
  }
}

/** Returns the path as the client sent it, without the query. */
const pathOf = ({ req: { url = "/" } }: Exchange): string => url.split("?")[0]!

/** Matches paths that the extension server might normalize into another path than the one that was authorized. */
const LEADS_ELSEWHERE = /\/(\.|%2e){1,2}(\/|$)|\/\/|\\/i

function answered(exchange: Exchange, incoming: Incoming): void {
  const { statusCode = 0, headers } = incoming
  if (statusCode >= 300 && statusCode <= 399 && (headers.location ?? "") !== "") {
    incoming.destroy()
    return exchange.sendText(502, "the backend attempted to redirect this request, which is not permitted")
  }
  passAnswer(exchange, headersToClient(exchange, headers), incoming)
}

/** Whether the request is for `/apis/<group>/<version>`, the discovery of a version. */
const isDiscovery = ({ isResource, path }: RequestInfo): boolean =>
  !isResource && path.split("/").filter((part) => part !== "").length === 3

const hasBody = ({ req: { headers, method }, res }: Exchange): boolean =>
  headers["transfer-encoding"] !== undefined ||
  (headers["content-length"] ?? "0") !== "0" ||
  (isHttp2(res) && method !== "GET" && method !== "HEAD")
