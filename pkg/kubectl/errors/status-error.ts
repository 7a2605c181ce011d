/** metav1.Status as a server sends it. */
export interface Status {
  readonly kind?: string
  readonly apiVersion?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly status?: string
  readonly message?: string
  readonly reason?: string
  readonly details?: StatusDetails
  readonly code?: number
}

export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[]
  readonly retryAfterSeconds?: number
}

/** What is said of a server that does not know the paths of the past. */
export const NO_HISTORY = "this server keeps no history: it is not one of k3ts"

/** The server answered a request with a Status that is a failure. */
export class StatusError extends Error {
  override readonly name = "StatusError"
  readonly status: Status

  constructor(status: Status) {
    super(status.message ?? "")
    this.status = status
  }

  get reason(): string {
    return this.status.reason ?? ""
  }

  get code(): number {
    return this.status.code ?? 0
  }

  /** The same error with another message. */
  withMessage(message: string): StatusError {
    return new StatusError({ ...this.status, message })
  }
}

/** Whether the error is a Status with this reason, or with its code and no known reason. Source: api/errors. */
const is = (err: unknown, reason: string, code?: number): err is StatusError =>
  err instanceof StatusError && (err.reason === reason || (err.code === code && !KNOWN.has(err.reason)))

const KNOWN: ReadonlySet<string> = new Set([
  "Unauthorized",
  "Forbidden",
  "NotFound",
  "AlreadyExists",
  "Conflict",
  "Gone",
  "Invalid",
  "ServerTimeout",
  "StoreReadError",
  "Timeout",
  "TooManyRequests",
  "BadRequest",
  "MethodNotAllowed",
  "NotAcceptable",
  "RequestEntityTooLarge",
  "UnsupportedMediaType",
  "InternalError",
  "Expired",
  "ServiceUnavailable",
])

export const isNotFound = (err: unknown): err is StatusError => is(err, "NotFound", 404)
export const isAlreadyExists = (err: unknown): err is StatusError => is(err, "AlreadyExists")
export const isConflict = (err: unknown): err is StatusError => is(err, "Conflict", 409)
export const isInvalid = (err: unknown): err is StatusError => is(err, "Invalid", 422)
export const isBadRequest = (err: unknown): err is StatusError => is(err, "BadRequest", 400)
export const isForbidden = (err: unknown): err is StatusError => is(err, "Forbidden", 403)
export const isUnauthorized = (err: unknown): err is StatusError => is(err, "Unauthorized", 401)
export const isMethodNotSupported = (err: unknown): err is StatusError => is(err, "MethodNotAllowed", 405)
export const isUnsupportedMediaType = (err: unknown): err is StatusError => is(err, "UnsupportedMediaType", 415)
export const isResourceExpired = (err: unknown): err is StatusError => is(err, "Expired")
export const isGone = (err: unknown): err is StatusError => is(err, "Gone", 410)
export const isTooManyRequests = (err: unknown): err is StatusError => is(err, "TooManyRequests", 429)
export const isTimeout = (err: unknown): err is StatusError => is(err, "Timeout", 504)
export const isServerTimeout = (err: unknown): err is StatusError => is(err, "ServerTimeout")
export const isInternalError = (err: unknown): err is StatusError => is(err, "InternalError", 500)
export const isServiceUnavailable = (err: unknown): err is StatusError => is(err, "ServiceUnavailable", 503)
