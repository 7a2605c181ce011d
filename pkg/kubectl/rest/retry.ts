import { UrlError } from "../errors/errors.ts"
import { errorCode } from "../environment/files.ts"
import type { RestRequest } from "./rest-request.ts"

/** How often a request is sent again, as the server asks or because the connection broke. */
export const MOST_RETRIES = 10
/** The wait after a broken connection, in milliseconds. */
export const BROKEN_RETRY_MS = 1000

/**
 * Whether a request may be sent again after its connection broke before an answer. Source: client-go rest/request.go
 * (isErrRetryableFunc).
 */
export const isBroken = ({ method }: RestRequest, err: unknown): err is UrlError =>
  method === "GET" && err instanceof UrlError && errorCode(err.reason) === "ECONNRESET"

/** Returns an error that tells of the attempt before too, where that failed in another way. */
export function withPrevious(err: unknown, previous: UrlError | undefined): unknown {
  if (previous === undefined || !(err instanceof Error) || err.message === previous.message) return err
  return new Error(`${err.message} - error from a previous attempt: ${previous.reason.message}`, { cause: err })
}
