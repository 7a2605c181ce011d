import type { OutgoingHttpHeaders } from "node:http"
import { ApiError, badRequest } from "../../../pkg/apimachinery/errors.ts"
import { durationProblem, parseDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import { isHttp2 } from "../../../pkg/runtime/http/listen.ts"
import type { Exchange } from "../call/exchange.ts"
import type { Query } from "../call/query.ts"

/** Most time of a request, unless its URL says less. Source: apiserver pkg/server/config.go RequestTimeout. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 60_000

/**
 * Returns the milliseconds that a request may take: those of `?timeout=`, but at most `mostMs`. 0 and less are ignored.
 * Throws BadRequest for an invalid duration. Source: apiserver pkg/endpoints/filters/request_deadline.go.
 */
export function requestTimeout(query: Query, mostMs: number): number {
  const text = query.get("timeout")
  if (text === undefined || text === "") return mostMs
  const asked = parseDuration(text)
  if (asked === undefined)
    throw badRequest(`invalid timeout specified in the request URL - ${durationProblem(text) ?? text}`)
  return asked > 0 ? Math.min(asked, mostMs) : mostMs
}

/**
 * Answers 504 to a request that has timed out. As upstream, it ignores what the client accepts: the Status has no kind
 * and version, and the type text/plain, which Go gives a response without a type. client-go does not read it and words
 * the failure itself. Source: apiserver pkg/server/filters/timeout.go.
 */
export function sendTimedOut(exchange: Exchange): void {
  const error = new ApiError("Timeout", "Timeout: request did not complete within the allotted timeout", {})
  const failure = error.toStatus()
  if (exchange.notes !== undefined) exchange.notes.status = failure
  const { kind: _, apiVersion: _version, ...status } = failure
  exchange.send(504, "text/plain; charset=utf-8", `${JSON.stringify(status)}\n`, closing(exchange))
}

/** The rest of the body may never come, so an HTTP/1.1 connection is closed with the response. */
const closing = ({ res }: Exchange): OutgoingHttpHeaders => (isHttp2(res) ? {} : { Connection: "close" })
