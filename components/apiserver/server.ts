/**
 * The path of every request, from the first byte to the last: start reading here.
 *
 *   listen → requestInfo → audit → stages/ → response
 *
 * `stages/stages.ts` is the list of what a request passes between these, in order. Every failure, wherever it is thrown,
 * becomes a response in `fail` only.
 */
import type { Duplex } from "node:stream"
import { ApiError } from "../../pkg/apimachinery/errors.ts"
import { Deadlines } from "../../pkg/clock/deadlines.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { contain } from "../../pkg/failure/contain.ts"
import { stopReceiving } from "../../pkg/runtime/http/listen.ts"
import type { ServerAnswer, ServerRequest } from "../../pkg/runtime/http/server-request.ts"
import { UpgradeAnswer } from "../../pkg/runtime/http/upgrade-answer.ts"
import type { RemoteService } from "./aggregator/api-services.ts"
import { auditStart } from "./audit/audit-start.ts"
import { auditedExchange } from "./audit/audited.ts"
import { auditIdOf, auditIds } from "./call/audit-id.ts"
import { Exchange, type ExchangeParts } from "./call/exchange.ts"
import { isLongRunning } from "./http/long-running.ts"
import { isApplyPatch } from "./codec/negotiate.ts"
import { requestInfo, type RequestInfo } from "./call/request-info.ts"
import { DEFAULT_REQUEST_TIMEOUT_MS, requestTimeout, sendTimedOut } from "./http/request-timeout.ts"
import { sendFailure } from "./http/send-failure.ts"
import { endRequestSpan } from "./tracing/request-span.ts"
import { StorageError } from "../../pkg/storage/storage.ts"
import type { ServerOptions } from "./server-options.ts"
import { callOf } from "./stages/call.ts"
import { stages } from "./stages/stages.ts"

export interface Server {
  onRequest(req: ServerRequest, res: ServerAnswer): void
  /** Serves a request for another protocol: WebSocket and SPDY, for streams and watches. */
  onUpgrade(req: ServerRequest, socket: Duplex, head: Buffer): void
}

export function createServer(options: ServerOptions): Server {
  const { metrics, aggregator, audit, clock, log, withoutTimeLimits = false } = options
  const { requestTimeoutMs: mostTimeMs = DEFAULT_REQUEST_TIMEOUT_MS } = options
  const serve = stages(options)
  const nextAuditId = auditIds(options.random)
  const deadlines = new Deadlines<Exchange>(clock, overdue)

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
      const isPanic = !(thrown instanceof ApiError || thrown instanceof StorageError)
      if (isPanic && exchange.notes !== undefined) exchange.notes.panic = `APIServer panic'd: ${errorMessage(cause)}`
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
      bytes: exchange.sentBytes,
    })
    if (exchange.span !== undefined) endRequestSpan(exchange.span, res.statusCode)
    if (notes !== undefined)
      audit?.ended(auditedExchange(exchange), info, notes, {
        code: res.statusCode,
        seconds: isLongRunning(info) ? 0 : seconds,
      })
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
      const pending = serve(callOf(exchange, info, remote, timeoutMs))
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
