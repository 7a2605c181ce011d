import { ApiError, badRequest } from "../../../pkg/apimachinery/errors.ts"
import { durationProblem, parseDuration } from "../../../pkg/apimachinery/time.ts"
import type { Query } from "./query.ts"

/** A request may take so long, unless its URL says less. Source: apiserver pkg/server/config.go RequestTimeout. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 60_000

/**
 * Milliseconds that a request may take: what `?timeout=` says, but no more than `mostMs`. 0 and less say nothing.
 * Throws BadRequest for what is no duration. Source: apiserver pkg/endpoints/filters/request_deadline.go.
 */
export function requestTimeout(query: Query, mostMs: number): number {
  const text = query.get("timeout")
  if (text === undefined || text === "") return mostMs
  const asked = parseDuration(text)
  if (asked === undefined)
    throw badRequest(`invalid timeout specified in the request URL - ${durationProblem(text) ?? text}`)
  return asked > 0 ? Math.min(asked, mostMs) : mostMs
}

/** 504 for a request that was not answered in its time. Source: apiserver pkg/server/filters/timeout.go. */
export const requestTimedOut = (): ApiError =>
  new ApiError("Timeout", "Timeout: request did not complete within the allotted timeout")
