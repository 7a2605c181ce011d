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
import type { Random } from "../../pkg/clock/random.ts"
import { FairShare } from "../../pkg/flow/fair-share.ts"
import { contain } from "../../pkg/failure/contain.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { Tracing } from "../../pkg/tracing/tracing.ts"
import { ownConnection, stopReceiving } from "../../pkg/runtime/http/listen.ts"
import type { ServerAnswer, ServerRequest } from "../../pkg/runtime/http/server-request.ts"
import { UpgradeAnswer } from "../../pkg/runtime/http/upgrade-answer.ts"
import type { Aggregator } from "./aggregator/aggregator.ts"
import type { RemoteService } from "./aggregator/api-services.ts"
import type { AuditSink } from "./audit/audit-log.ts"
import { auditStart } from "./audit/audit-start.ts"
import { ANONYMOUS, type Authenticator, type Credentials } from "./authentication/authenticator.ts"
import { impersonate } from "./authentication/impersonation.ts"
import { attributesOf } from "./authorization/attributes-of.ts"
import { authorize } from "./authorization/authorize.ts"
import { decidedWhenFresh } from "./store/decided-when-fresh.ts"
import type { Connections } from "./endpoints/connect.ts"
import { isExempt } from "./flowcontrol/exempt.ts"
import { DEFAULT_LIMITS, MaxInFlight, type InFlightLimits } from "./flowcontrol/max-in-flight.ts"
import type { FlowControl } from "./flowcontrol/flow-control.ts"
import { flowStage, type Admitted } from "./flowcontrol/flow-stage.ts"
import { shareUsedUp } from "./call/too-many-requests.ts"
import { auditIdOf, auditIds } from "./http/audit-id.ts"
import { readBody, UNFINISHED_BODY_BYTES } from "./codec/body.ts"
import { credentialsOf, isImpersonating } from "./http/credentials.ts"
import { Exchange, type ExchangeParts } from "./call/exchange.ts"
import { isLongRunning } from "./http/long-running.ts"
import { isApplyPatch } from "./codec/negotiate.ts"
import { requestInfo, type RequestInfo } from "./call/request-info.ts"
import { DEFAULT_REQUEST_TIMEOUT_MS, requestTimeout, sendTimedOut } from "./http/request-timeout.ts"
import { resourceOf, serveResource, usualWatchSeconds } from "./http/resource-request.ts"
import { sendFailure } from "./http/send-failure.ts"
import { settled } from "./call/settled.ts"
import { noSuchMethod } from "./call/subresource-verbs.ts"
import type { ServerMetrics } from "./metrics.ts"
import { endRequestSpan, startRequestSpan } from "./tracing/request-span.ts"
import type { Pipeline, UserInfo } from "./call/request.ts"
import type { Scheme } from "../../pkg/api/scheme.ts"
import { StorageError } from "../../pkg/storage/storage.ts"

/** Serves a request that is authorized. The body is empty for verbs without one. */
type Handler = (exchange: Exchange, info: RequestInfo, user: UserInfo, body: Uint8Array) => void | Promise<void>

/** A request whose sender is known. */
interface Authenticated {
  readonly exchange: Exchange
  readonly info: RequestInfo
  readonly remote: RemoteService | undefined
  /** Most time that the request may take, in milliseconds; undefined for watches and streams. */
  readonly timeoutMs: number | undefined
  readonly credentials: Credentials
  /** Who sends the request, before it acts as another user. */
  readonly sender: UserInfo
}

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
  /** Resolves when this server knows all that others have written; absent where no store is shared. */
  readonly freshen?: (() => Promise<void>) | undefined
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
  readonly tracing?: Tracing | undefined
}

export interface Server {
  onRequest(req: ServerRequest, res: ServerAnswer): void
  /** Serves a request for another protocol: WebSocket and SPDY, for streams and watches. */
  onUpgrade(req: ServerRequest, socket: Duplex, head: Buffer): void
}

export function createServer(options: ServerOptions): Server {
  const { pipeline, scheme, authenticator, metrics, aggregator, connections, audit, clock, log, tracing } = options
  const { requestTimeoutMs: mostTimeMs = DEFAULT_REQUEST_TIMEOUT_MS, withoutTimeLimits = false } = options
  const unfinishedBodies = new FairShare(UNFINISHED_BODY_BYTES)
  const inTurn = flowStage({
    flow: options.flow,
    maxInFlight: new MaxInFlight(options.maxInFlight ?? DEFAULT_LIMITS, {
      reads: metrics.inflightReads,
      writes: metrics.inflightWrites,
    }),
    bodies: unfinishedBodies,
    mostTimeMs,
    clock,
    tracing,
  })
  const watchSeconds = withoutTimeLimits ? () => undefined : () => usualWatchSeconds(options.random)
  const resourceOptions = { pipeline, scheme, clock, watchSeconds, watchEvents: metrics.watchEvents }
  const nextAuditId = auditIds(options.random)
  const deadlines = new Deadlines<Exchange>(clock, overdue)

  /** Runs every stage in order. Returns a promise when the response is not complete in this turn of the event loop. */
  function serve(
    exchange: Exchange,
    info: RequestInfo,
    remote: RemoteService | undefined,
    timeoutMs: number | undefined,
  ): void | Promise<void> {
    const credentials = credentialsOf(exchange, info)
    return decidedWhenFresh(
      options.freshen,
      () => authenticator.authenticate(credentials),
      (sender) => {
        const { req, notes } = exchange
        if (notes !== undefined) notes.sender = sender
        if (sender !== ANONYMOUS && !ownConnection(req, sender.name, isExempt(sender))) throw shareUsedUp("connections")
        const authenticated = { exchange, info, remote, timeoutMs, credentials, sender }
        if (tracing === undefined) return serveAs(authenticated)
        const isKnown = remote !== undefined || scheme.resource(info.group, info.version, info.resource) !== undefined
        exchange.span = startRequestSpan(tracing, exchange, info, sender, info.isResource && isKnown)
        return tracing.within(exchange.span, () => serveAs(authenticated))
      },
    )
  }

  /** Runs the stages that come after authentication. */
  const serveAs = (request: Authenticated): void | Promise<void> =>
    decidedWhenFresh(
      options.freshen,
      () => authorized(request),
      (attributes) => serveAuthorized(request, attributes),
    )

  /** Returns what the request may do. @throws ApiError Forbidden */
  function authorized({ exchange, info, remote, credentials, sender }: Authenticated): Admitted["attributes"] {
    const { req, notes } = exchange
    const user = isImpersonating(req)
      ? impersonate(sender, credentials, (attributes) => pipeline.authorize(attributes))
      : sender
    if (notes !== undefined) notes.user = user
    const attributes = attributesOf(user, info)
    authorize(pipeline, attributes, exchange.annotate)
    if (remote === undefined && connections.needsCreate(info))
      authorize(pipeline, { ...attributes, verb: "create" }, undefined)
    return attributes
  }

  function serveAuthorized(
    { exchange, info, remote, timeoutMs }: Authenticated,
    attributes: Admitted["attributes"],
  ): void | Promise<void> {
    const { req } = exchange
    const { user } = attributes
    const admitted = { info, attributes, timeoutMs }
    if (remote !== undefined) return serveRemote(exchange, admitted, remote)
    // No part of the server has paths of this group, so the response is plain text, and the request counts as not
    // served.
    if (info.isResource && scheme.group(info.group) === undefined) return exchange.sendText(404, "404 page not found\n")
    const answer = handlerOf(info, req.method ?? "GET")
    exchange.isServed = true

    if (isLongRunning(info)) {
      const serveLong = () => settled(() => answer(exchange, info, user, NO_BODY), metrics.longRunning(info))
      // A stream lasts as long as its client likes and takes no seat; a watch takes a seat while it begins.
      return info.verb === "watch" ? inTurn(exchange, admitted, NO_BODY, serveLong) : serveLong()
    }
    if (!hasBody(info)) return inTurn(exchange, admitted, NO_BODY, () => answer(exchange, info, user, NO_BODY))
    // Clients may send the body slowly, so flow control comes when the body is complete.
    return readBody(req, user.name, unfinishedBodies).then((body) => {
      exchange.span?.event("limitedReadBody succeeded", { len: body.length })
      return inTurn(exchange, admitted, body, () => answer(exchange, info, user, body))
    })
  }

  /** Forwards a request to an extension API server, which gets the body as it comes. */
  function serveRemote(exchange: Exchange, admitted: Admitted, service: RemoteService): void | Promise<void> {
    const { info, attributes } = admitted
    // The parts of the path become labels of metrics only if the extension server is known to have such a resource.
    exchange.isServed = aggregator!.hasResource(info, service)
    const answer = () => aggregator!.serve(exchange, info, attributes.user, service)
    if (isLongRunning(info) || exchange.upgrade !== undefined)
      return settled(answer, exchange.isServed ? metrics.longRunning(info) : () => undefined)
    return inTurn(exchange, admitted, NO_BODY, answer)
  }

  /**
   * Returns the most time that a request may take, in milliseconds; undefined for watches and streams. Throws
   * BadRequest where the client asks for a time that is none.
   */
  function timeLimit({ upgrade }: Exchange, info: RequestInfo, remote: RemoteService | undefined): number | undefined {
    if (isLongRunning(info)) return undefined
    const timeoutMs = requestTimeout(info.query, mostTimeMs)
    const isStream = remote !== undefined && upgrade !== undefined
    return withoutTimeLimits || isStream ? undefined : timeoutMs
  }

  /** Returns the handler of a request. Throws NotFound and MethodNotAllowed where there is none. */
  function handlerOf(info: RequestInfo, method: string): Handler {
    if (!info.isResource) return options.paths
    const connection = connections.find(info)
    if (connection !== undefined) return connection
    const resource = resourceOf(info, scheme)
    if (method === "HEAD" || (info.legacyWatch && method !== "GET")) throw noSuchMethod()
    return (exchange, _, user, body) => serveResource(exchange, info, user, body, resource, resourceOptions)
  }

  /** Turns an error into a response. This is the only place that does. */
  function fail(exchange: Exchange, thrown: unknown): void {
    const error = ApiError.from(thrown)
    const cause = error.cause ?? error
    // A full disk is logged once, when the store begins to refuse writes, and not for each write. An error without a
    // cause is an answer that was decided on, as upstream's to an exec into a container that does not run.
    const isTold = cause instanceof StorageError && cause.code !== "damaged"
    const isAnswer = thrown instanceof ApiError && thrown.cause === undefined
    if (error.code >= 500 && error.reason === "InternalError" && !isTold && !isAnswer) {
      const { req, auditId: auditID } = exchange
      contain("request", cause, log, { method: req.method, url: req.url, auditID, error: error.message })
    }
    if (!exchange.isOver) breakOff(exchange, error)
  }

  /** After the head of a response has been sent, only a broken connection can show a failure. */
  function breakOff(exchange: Exchange, error: ApiError): void {
    if (exchange.res.headersSent) exchange.res.destroy()
    else sendFailure(exchange, error)
  }

  function finish(exchange: Exchange): void {
    const { info, notes, req, res, began, isOver } = exchange
    if (isOver) return
    exchange.isOver = true
    stopReceiving(req, res)
    if (info === undefined) return
    const seconds = (clock.monotonic() - began) / 1000
    const { isServed } = exchange
    const isApply = isServed && info.verb === "patch" && isApplyPatch(exchange.header("content-type"))
    metrics.answered({
      info,
      isServed,
      isApply,
      code: res.statusCode,
      seconds,
      waitedSeconds: exchange.waitedMs / 1000,
      isTerminated: exchange.isTerminated,
    })
    if (exchange.span !== undefined) endRequestSpan(exchange.span, res.statusCode)
    if (notes !== undefined)
      audit?.ended(exchange, info, notes, { code: res.statusCode, seconds: isLongRunning(info) ? 0 : seconds })
  }

  /** Answers a request that has timed out. Its work goes on, and the result is dropped. */
  function overdue(exchange: Exchange): void {
    exchange.isTerminated = true
    if (exchange.res.headersSent) exchange.res.destroy()
    else sendTimedOut(exchange)
    finish(exchange)
  }

  /** Begins a request; its connection is closed if even its failure cannot be sent. */
  function begin(parts: ExchangeParts): void {
    try {
      beginOne(parts)
    } catch (err) {
      contain("request", err, log, { method: parts.req.method, url: parts.req.url })
      parts.res.destroy()
    }
  }

  /** A request whose line is malformed is refused, and neither counted nor audited. */
  function beginOne(parts: ExchangeParts): void {
    const { req } = parts
    let info: RequestInfo
    try {
      info = requestInfo(req.method ?? "GET", req.url ?? "/")
    } catch (err) {
      const exchange = new Exchange(parts, undefined, undefined)
      fail(exchange, err)
      return finish(exchange)
    }
    const exchange = new Exchange(parts, info, audit?.began())
    if (audit !== undefined && isLongRunning(info)) auditStart(audit, exchange, info)
    run(exchange, info)
  }

  function run(exchange: Exchange, info: RequestInfo): void {
    try {
      const remote = aggregator?.remoteOf(info)
      const timeoutMs = timeLimit(exchange, info, remote)
      const pending = serve(exchange, info, remote, timeoutMs)
      if (pending === undefined) return finish(exchange)
      const deadline = timeoutMs === undefined ? undefined : deadlines.add(exchange, exchange.began + timeoutMs)
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
    } catch (err) {
      contain("request", err, log, { method: exchange.req.method, url: exchange.req.url })
      exchange.res.destroy()
    }
  }

  return {
    onRequest: (req, res) =>
      begin({
        req,
        res,
        auditId: req.headers["audit-id"] === undefined ? nextAuditId() : auditIdOf(req, nextAuditId),
        began: clock.monotonic(),
        upgrade: undefined,
      }),
    onUpgrade: (req, socket, head) => {
      const answer = new UpgradeAnswer(socket)
      const upgrade = { socket, head, answer }
      begin({ req, res: answer, auditId: nextAuditId(), began: clock.monotonic(), upgrade })
    },
  }
}

const NO_BODY = new Uint8Array()

/** Verbs whose requests may have a body. */
const BODY: readonly string[] = ["create", "update", "patch", "delete", "deletecollection"]
const hasBody = ({ isResource, verb }: RequestInfo): boolean => isResource && BODY.includes(verb)
