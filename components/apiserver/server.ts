/**
 * The path of every request, from the first byte to the last: start reading here.
 *
 *   listen → requestInfo → audit → authenticate → impersonate → authorize → read the body → flow control → { resource |
 *   subresource stream | path } → response
 *
 * The pipeline is everything behind a resource: admission, registry, store. Components in this process enter it
 * directly, and are authorized there. Every failure, wherever it is thrown, becomes a response in `fail` only.
 */
import type { Duplex } from "node:stream"
import { ApiError } from "../../pkg/apimachinery/errors.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import { Deadlines } from "../../pkg/clock/deadlines.ts"
import { uuid, type Random } from "../../pkg/clock/random.ts"
import { FairShare } from "../../pkg/flow/fair-share.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { isWebSocket } from "../../pkg/streaming/upgrade.ts"
import {
  ownConnection,
  peerCertificate,
  stopReceiving,
  type ServerAnswer,
  type ServerRequest,
} from "../../pkg/runtime/listen.ts"
import type { Aggregator } from "./aggregator/aggregator.ts"
import type { RemoteService } from "./aggregator/api-services.ts"
import type { AuditSink } from "./audit/audit-log.ts"
import { ANONYMOUS, type Authenticator, type Credentials } from "./authentication/authenticator.ts"
import { impersonate } from "./authentication/impersonation.ts"
import { authorize, authorizedName, authorizedSelector } from "./authorization/authorize.ts"
import type { Connections } from "./endpoints/connect.ts"
import { isExempt } from "./flowcontrol/exempt.ts"
import { DEFAULT_LIMITS, MaxInFlight, type InFlightLimits } from "./flowcontrol/max-in-flight.ts"
import type { FlowControl } from "./flowcontrol/flow-control.ts"
import { FlowTerms } from "./flowcontrol/flow-terms.ts"
import { RETRY_AFTER_SECONDS, shareUsedUp, TURNED_AWAY } from "./flowcontrol/too-many-requests.ts"
import { readBody, UNFINISHED_BODY_BYTES } from "./http/body.ts"
import { encodeStatus } from "./http/encode.ts"
import { Exchange } from "./http/exchange.ts"
import { headerText } from "./http/header-text.ts"
import { isApplyPatch, negotiate, PLAIN, type Encoding } from "./http/negotiate.ts"
import { requestInfo, type RequestInfo } from "./http/request-info.ts"
import { DEFAULT_REQUEST_TIMEOUT_MS, requestTimeout, sendTimedOut } from "./http/request-timeout.ts"
import { resourceOf, serveResource, usualWatchSeconds } from "./http/resource-request.ts"
import { UpgradeAnswer } from "../../pkg/runtime/upgrade-answer.ts"
import { noSuchMethod } from "./subresource-verbs.ts"
import type { ServerMetrics } from "./metrics.ts"
import type { NonResourceRequest, Pipeline, ResourceAttributes, UserInfo } from "./request.ts"
import type { Scheme } from "../../pkg/api/scheme.ts"
import { StorageError } from "../../pkg/storage/storage.ts"

/** Serves a request that is authorized. */
type Handler = (exchange: Exchange, info: RequestInfo, user: UserInfo) => void | Promise<void>

export interface ServerOptions {
  readonly pipeline: Pipeline
  readonly scheme: Scheme
  readonly authenticator: Authenticator
  readonly metrics: ServerMetrics
  /** Serves paths that are no resource: health, discovery, metrics … */
  readonly paths: Handler
  /** Forwards requests for versions that extension API servers serve. */
  readonly aggregator?: Pick<Aggregator, "remoteOf" | "hasResource" | "serve">
  /** Serves subresources that stream: log, exec, attach, portforward, proxy. */
  readonly connections: Connections
  readonly audit?: AuditSink
  /** Priority and fairness; without it only the limits of `maxInFlight` apply. */
  readonly flow?: FlowControl | undefined
  readonly maxInFlight?: InFlightLimits
  /** Most time of a request that is no watch or stream; 60 seconds unless given. */
  readonly requestTimeoutMs?: number
  /** Requests and watches have no time limit. */
  readonly withoutTimeLimits?: boolean
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

export interface Server {
  onRequest(req: ServerRequest, res: ServerAnswer): void
  /** Serves a request for another protocol: WebSocket and SPDY, for streams and watches. */
  onUpgrade(req: ServerRequest, socket: Duplex, head: Buffer): void
}

export function createServer(options: ServerOptions): Server {
  const { pipeline, scheme, authenticator, metrics, aggregator, connections, audit, clock, log } = options
  const { requestTimeoutMs: mostTimeMs = DEFAULT_REQUEST_TIMEOUT_MS, withoutTimeLimits = false } = options
  const unfinishedBodies = new FairShare(UNFINISHED_BODY_BYTES)
  const maxInFlight = new MaxInFlight(options.maxInFlight ?? DEFAULT_LIMITS, {
    reads: metrics.inflightReads,
    writes: metrics.inflightWrites,
  })
  const watchSeconds = withoutTimeLimits ? () => undefined : () => usualWatchSeconds(options.random)
  const resourceOptions = { pipeline, scheme, clock, watchSeconds, watchEvents: metrics.watchEvents }
  const nextAuditId = auditIds(options.random)
  const deadlines = new Deadlines<Exchange>(clock, overdue)

  /** Runs every stage in order. Returns a promise when the response is not complete in this turn of the event loop. */
  function serve(exchange: Exchange): void | Promise<void> {
    const { req } = exchange
    const info = (exchange.info = requestInfo(req.method ?? "GET", req.url ?? "/"))
    audit?.began(exchange)
    const longRunning = isLongRunning(info)
    const timeoutMs = longRunning ? undefined : requestTimeout(info.query, mostTimeMs)
    exchange.timeoutMs = withoutTimeLimits ? undefined : timeoutMs
    const credentials = credentialsOf(exchange, info)
    const sender = (exchange.sender = authenticator.authenticate(credentials))
    if (sender !== ANONYMOUS && !ownConnection(req, sender.name, isExempt(sender))) throw shareUsedUp("connections")
    const user = (exchange.user = isImpersonating(req)
      ? impersonate(sender, credentials, (attributes) => pipeline.authorize(attributes))
      : sender)

    const attributes = attributesOf(user, info)
    authorize(pipeline, attributes, exchange.annotator)
    const remote = aggregator?.remoteOf(info)
    if (remote !== undefined) return serveRemote(exchange, info, attributes, remote)
    if (connections.needsCreate(info)) authorize(pipeline, { ...attributes, verb: "create" }, undefined)
    // No part of the server has paths of this group, so the response is plain text, and the request counts as not
    // served.
    if (info.isResource && scheme.group(info.group) === undefined) return exchange.sendText(404, "404 page not found\n")
    const answer = handlerOf(info, req.method ?? "GET")
    exchange.isServed = true

    if (longRunning) {
      const serveLong = () => settled(() => answer(exchange, info, user), metrics.longRunning(info))
      // A stream lasts as long as its client likes and takes no seat; a watch takes a seat while it begins.
      return info.verb === "watch" ? inTurn(exchange, info, attributes, serveLong) : serveLong()
    }
    const serveOnce = () => answer(exchange, info, user)
    if (!hasBody(info)) return inTurn(exchange, info, attributes, serveOnce)
    // Clients may send the body slowly, so flow control comes when the body is complete.
    return readBody(req, user.name, unfinishedBodies).then((body) => {
      exchange.body = body
      return inTurn(exchange, info, attributes, serveOnce)
    })
  }

  /** Forwards a request to an extension API server, which gets the body as it comes. */
  function serveRemote(
    exchange: Exchange,
    info: RequestInfo,
    attributes: ResourceAttributes | NonResourceRequest,
    service: RemoteService,
  ): void | Promise<void> {
    // The parts of the path become labels of metrics only if the extension server is known to have such a resource.
    exchange.isServed = aggregator!.hasResource(info, service)
    const answer = () => aggregator!.serve(exchange, info, attributes.user, service)
    if (isLongRunning(info) || exchange.upgrade !== undefined) {
      exchange.timeoutMs = undefined
      return settled(answer, exchange.isServed ? metrics.longRunning(info) : () => undefined)
    }
    return inTurn(exchange, info, attributes, answer)
  }

  /** Serves a request when flow control lets it begin. */
  function inTurn(
    exchange: Exchange,
    info: RequestInfo,
    attributes: ResourceAttributes | NonResourceRequest,
    serveIt: () => void | Promise<void>,
  ): void | Promise<void> {
    const { user } = attributes
    const isWatch = info.isResource && info.verb === "watch"
    if (options.flow === undefined) return isWatch ? serveIt() : withSlot(exchange, info, user, serveIt)
    const terms = new FlowTerms(exchange, info, user, unfinishedBodies, isWatch, mostTimeMs)
    return options.flow.run(
      user,
      attributes,
      isWatch ? serveIt : () => maxInFlight.counted(info.verb, serveIt()),
      terms,
    )
  }

  /** Returns the handler of a request. Throws NotFound and MethodNotAllowed where there is none. */
  function handlerOf(info: RequestInfo, method: string): Handler {
    if (!info.isResource) return options.paths
    const connection = connections.find(info)
    if (connection !== undefined) return connection
    const resource = resourceOf(info, scheme)
    if (method === "HEAD" || (info.legacyWatch && method !== "GET")) throw noSuchMethod()
    return (exchange, _, user) => serveResource(exchange, info, user, resource, resourceOptions)
  }

  function withSlot(
    exchange: Exchange,
    info: RequestInfo,
    user: UserInfo,
    serveIt: () => void | Promise<void>,
  ): void | Promise<void> {
    const slot = maxInFlight.enter(user, info.verb)
    if (slot === undefined)
      return exchange.sendText(429, `${TURNED_AWAY}\n`, { "Retry-After": String(RETRY_AFTER_SECONDS) })
    return settled(serveIt, () => maxInFlight.leave(slot, user))
  }

  /** Turns an error into a response. This is the only place that does. */
  function fail(exchange: Exchange, thrown: unknown): void {
    const error = ApiError.from(thrown)
    const cause = error.cause ?? error
    // A full disk is logged once, when the store begins to refuse writes, and not for each write.
    const isTold = cause instanceof StorageError && cause.code !== "damaged"
    if (error.code >= 500 && error.reason === "InternalError" && !isTold) {
      log.error("Request failed", {
        method: exchange.req.method,
        url: exchange.req.url,
        auditID: exchange.auditId,
        error: error.message,
        stack: cause instanceof Error ? cause.stack : undefined,
      })
    }
    if (!exchange.isOver) breakOff(exchange, error)
  }

  /** After the head of a response has been sent, only a broken connection can show a failure. */
  function breakOff(exchange: Exchange, error: ApiError): void {
    if (exchange.res.headersSent) exchange.res.destroy()
    else sendFailure(exchange, error)
  }

  function finish(exchange: Exchange): void {
    const { info, req, res, began, isOver } = exchange
    if (isOver) return
    exchange.isOver = true
    stopReceiving(req, res)
    if (info === undefined) return
    const seconds = (clock.monotonic() - began) / 1000
    const { isServed } = exchange
    const isApply = isServed && info.verb === "patch" && isApplyPatch(exchange.header("content-type"))
    metrics.answered({ info, isServed, isApply, code: res.statusCode, seconds })
    audit?.ended(exchange, info, { code: res.statusCode, seconds: isLongRunning(info) ? 0 : seconds })
  }

  /** Answers a request that has timed out. Its work goes on, and the result is dropped. */
  function overdue(exchange: Exchange): void {
    if (exchange.res.headersSent) exchange.res.destroy()
    else sendTimedOut(exchange)
    finish(exchange)
  }

  function run(exchange: Exchange): void {
    try {
      const pending = serve(exchange)
      if (pending === undefined) return finish(exchange)
      const { timeoutMs, began } = exchange
      const deadline = timeoutMs === undefined ? undefined : deadlines.add(exchange, began + timeoutMs)
      void finishAfter(pending, exchange, deadline)
    } catch (err) {
      fail(exchange, err)
      finish(exchange)
    }
  }

  /** `deadline` is the request's index in `deadlines`; undefined for requests without a deadline. */
  async function finishAfter(pending: Promise<void>, exchange: Exchange, deadline: number | undefined): Promise<void> {
    try {
      try {
        await pending
      } catch (err) {
        fail(exchange, err)
      }
      if (deadline !== undefined) deadlines.delete(deadline)
      finish(exchange)
    } catch {
      // If the error cannot be sent either, the connection is closed; the server goes on.
      exchange.res.destroy()
    }
  }

  return {
    onRequest: (req, res) =>
      run(
        new Exchange(
          req,
          res,
          req.headers["audit-id"] === undefined ? nextAuditId() : auditIdOf(req, nextAuditId),
          clock.monotonic(),
        ),
      ),
    onUpgrade: (req, socket, head) => {
      const answer = new UpgradeAnswer(socket)
      run(new Exchange(req, answer, nextAuditId(), clock.monotonic(), { socket, head, answer }))
    },
  }
}

/**
 * Sends a failure in the encoding that the client accepts; JSON where it accepts none that exists. Source:
 * responsewriters ErrorNegotiated.
 */
function sendFailure(exchange: Exchange, error: ApiError): void {
  const status = (exchange.failure = error.toStatus())
  const { encoding } = exchange.info?.isResource === true ? acceptedOr(exchange.header("accept")) : JSON_ONLY
  if (encoding === "json") return exchange.sendStatus(status)
  const { contentType, body } = encodeStatus(status, encoding, false)
  Promise.resolve(body)
    .then((bytes) => exchange.sendStatus(status, { contentType, bytes: bytes as Uint8Array | string }))
    .catch(() => exchange.res.destroy())
}
const JSON_ONLY = { encoding: "json" } as const

function acceptedOr(accept: string | undefined): { readonly encoding: Encoding } {
  try {
    return negotiate(accept, PLAIN)
  } catch {
    return JSON_ONLY
  }
}

const attributesOf = (user: UserInfo, info: RequestInfo): ResourceAttributes | NonResourceRequest =>
  info.isResource
    ? {
        user,
        verb: info.verb,
        group: info.group,
        version: info.version,
        resource: info.resource,
        subresource: info.subresource || undefined,
        namespace: info.namespace || undefined,
        name: authorizedName(info.verb, info.name, info.query.get("fieldSelector")),
        fieldSelector: info.legacyWatch ? undefined : authorizedSelector(info.verb, info.query.get("fieldSelector")),
      }
    : { user, verb: info.verb, path: info.path }

/** Runs `serve` and calls `end` once when it has finished, after success and after failure. */
function settled(serve: () => void | Promise<void>, end: () => void): void | Promise<void> {
  let pending: void | Promise<void> = undefined
  try {
    pending = serve()
  } finally {
    if (pending === undefined) end()
  }
  return pending === undefined ? undefined : endAfter(pending, end)
}

async function endAfter(pending: Promise<void>, end: () => void): Promise<void> {
  try {
    await pending
  } finally {
    end()
  }
}

/**
 * Subresources whose requests last as long as the client likes. Source: genericfilters.BasicLongRunningRequestCheck.
 */
const STREAMING: readonly string[] = ["attach", "exec", "proxy", "log", "portforward"]
const isLongRunning = ({ isResource, verb, subresource }: RequestInfo): boolean =>
  isResource && (verb === "watch" || (subresource !== "" && STREAMING.includes(subresource)))

/** Verbs whose requests may have a body. */
const BODY: readonly string[] = ["create", "update", "patch", "delete", "deletecollection"]
const hasBody = ({ isResource, verb }: RequestInfo): boolean => isResource && BODY.includes(verb)

function isImpersonating({ headers }: ServerRequest): boolean {
  for (const name in headers) if (name.startsWith("impersonate-")) return true
  return false
}

/**
 * Returns the credentials of a request. Headers that may come several times are read from the raw headers, which keep
 * them apart.
 */
function credentialsOf({ req, upgrade, annotator, warn }: Exchange, { path }: RequestInfo): Credentials {
  return {
    certificate: peerCertificate(req),
    authorization: req.headers.authorization,
    isWebSocket: upgrade !== undefined && isWebSocket(req),
    path,
    header: (name) => {
      const values: string[] = []
      for (let i = 0; i < req.rawHeaders.length; i += 2)
        if (req.rawHeaders[i]!.toLowerCase() === name) values.push(headerText(req.rawHeaders[i + 1]!))
      return values
    },
    headerNames: () => Object.keys(req.headers),
    annotate: annotator,
    warn,
  }
}

/** Generates UUIDs whose first half counts up from a random start, so that a request costs no random bytes. */
function auditIds(random: Random): () => string {
  const start = uuid(random)
  let next = 0
  return () => {
    next = (next + 1) % 2 ** 32
    return next.toString(16).padStart(8, "0") + start.slice(8)
  }
}

/** Returns the Audit-Id that the client sent if it is valid in a header, else a new one. */
function auditIdOf(req: ServerRequest, otherwise: () => string): string {
  const given = req.headers["audit-id"]
  return typeof given === "string" && /^[\x21-\x7e]{1,64}$/.test(given) ? given : otherwise()
}
