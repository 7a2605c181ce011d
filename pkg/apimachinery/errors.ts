import { errorMessage } from "../errors/error-message.ts"

/**
 * The reasons of failed requests, and their HTTP codes. Source: StatusReason in apimachinery pkg/apis/meta/v1/types.go.
 */
export const HTTP_CODE = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServerTimeout: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
  /** Upstream sends no reason for this error, and neither do we. */
  Unknown: 500,
} as const
export type Reason = keyof typeof HTTP_CODE

/**
 * The kind of a fault of a field, which clients see in `details.causes[].reason`. Source: CauseType and
 * field.ErrorType.
 */
export type CauseReason =
  | "FieldValueNotFound"
  | "FieldValueRequired"
  | "FieldValueDuplicate"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "InternalError"
  | "FieldValueTypeInvalid"
  | "FieldManagerConflict"
  | "ResourceVersionTooLarge"
  | "UnexpectedServerResponse"
  | "NamespaceTerminating"
  | "DisruptionBudget"
  | "NodeCapacity"
  | "UnsupportedPlatform"

export interface Cause {
  readonly reason?: CauseReason
  readonly message: string
  readonly field?: string
}

export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly Cause[]
  readonly retryAfterSeconds?: number
}

/** metav1.Status: the response to a failed request, and to some successful ones. */
export interface Status {
  readonly kind: "Status"
  readonly apiVersion: "v1"
  readonly metadata: {
    readonly resourceVersion?: string
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly status?: "Success" | "Failure"
  readonly message?: string
  readonly reason?: string
  readonly details?: StatusDetails
  readonly code?: number
}

/** The only error that may leave a component. */
export class ApiError extends Error {
  override readonly name = "ApiError"
  constructor(
    readonly reason: Reason,
    message: string,
    readonly details: StatusDetails | undefined = undefined,
    options?: ErrorOptions & { code?: number; metadata?: Status["metadata"]; shownReason?: string },
  ) {
    super(message, options)
    this.code = options?.code ?? HTTP_CODE[reason]
    this.metadata = options?.metadata ?? {}
    this.shownReason = options?.shownReason
  }
  readonly code: number
  readonly metadata: Status["metadata"]
  /** The reason in the response when it is not in HTTP_CODE: admission webhooks refuse with any text. */
  readonly shownReason: string | undefined

  /** Returns any thrown value as an ApiError: itself, or an InternalError with the value as its cause. */
  static from(err: unknown): ApiError {
    if (err instanceof ApiError) return err
    const text = errorMessage(err)
    return new ApiError(
      "InternalError",
      `Internal error occurred: ${text}`,
      { causes: [{ message: text }] },
      { cause: err },
    )
  }

  /** Returns the error for a Status that a server has sent. */
  static fromStatus(status: Status): ApiError {
    const reason = (
      status.reason !== undefined && status.reason in HTTP_CODE ? status.reason : "InternalError"
    ) as Reason
    return new ApiError(reason, status.message ?? reason, status.details, {
      ...(status.code === undefined ? {} : { code: status.code }),
      metadata: status.metadata ?? {},
    })
  }

  toStatus(): Status {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: this.metadata,
      status: "Failure",
      message: this.message,
      ...(this.shownReason === undefined && this.reason === "Unknown"
        ? {}
        : { reason: this.shownReason ?? this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    }
  }
}

export const isReason = (err: unknown, ...reasons: Reason[]): err is ApiError =>
  err instanceof ApiError && reasons.includes(err.reason)
export const isNotFound = (err: unknown): err is ApiError => isReason(err, "NotFound")
export const isConflict = (err: unknown): err is ApiError => isReason(err, "Conflict")
/** Whether a create failed because its namespace is being deleted or is gone, so that a retry is useless. */
export const isNamespaceEnding = (err: unknown): boolean =>
  (isReason(err, "Forbidden") &&
    err.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true) ||
  (isNotFound(err) && err.details?.kind === "namespaces")
export const isAlreadyExists = (err: unknown): err is ApiError => isReason(err, "AlreadyExists")

/** A resource by its group and plural, which is all that errors need. */
export interface GroupResource {
  readonly group: string
  readonly plural: string
}

/** Returns `deployments.apps`, or `pods` for the core group. */
export const qualified = ({ group, plural }: GroupResource): string => (group === "" ? plural : `${plural}.${group}`)

const about = ({ group, plural }: GroupResource, name: string): StatusDetails => ({
  ...(name === "" ? {} : { name }),
  ...(group === "" ? {} : { group }),
  kind: plural,
})

export const badRequest = (message: string): ApiError => new ApiError("BadRequest", message)
export const notFound = (resource: GroupResource, name: string): ApiError =>
  new ApiError("NotFound", `${qualified(resource)} ${JSON.stringify(name)} not found`, about(resource, name))
export const alreadyExists = (resource: GroupResource, name: string): ApiError =>
  new ApiError("AlreadyExists", `${qualified(resource)} "${name}" already exists`, about(resource, name))
export const conflict = (resource: GroupResource, name: string, why: string): ApiError =>
  new ApiError(
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`,
    about(resource, name),
  )
/**
 * The message of a conflict, which client libraries search for. Source: registry/generic/registry/store.go
 * OptimisticLockErrorMsg.
 */
export const MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
export const forbidden = (resource: GroupResource, name: string, why: string): ApiError =>
  new ApiError(
    "Forbidden",
    name === ""
      ? `${qualified(resource)} is forbidden: ${why}`
      : `${qualified(resource)} "${name}" is forbidden: ${why}`,
    about(resource, name),
  )
export const methodNotSupported = (resource: GroupResource, verb: string): ApiError =>
  new ApiError("MethodNotAllowed", `${verb} is not supported on resources of kind "${qualified(resource)}"`, {
    ...(resource.group === "" ? {} : { group: resource.group }),
    kind: resource.plural,
  })

/**
 * The number of causes in a response. Differs from upstream, which sends all: a request with a few bytes for each
 * faulty item must not cause a response of hundreds of megabytes.
 */
const MOST_CAUSES = 1000
const MOST_TEXT = 256 * 1024

/** Returns the first causes up to the limit; all of them unless there are very many or they are very long. */
function limitedCauses(causes: readonly Cause[]): readonly Cause[] {
  let left = MOST_TEXT
  let count = 0
  while (count < Math.min(causes.length, MOST_CAUSES) && (count === 0 || left > 0)) {
    const { field = "", message } = causes[count++]!
    left -= field.length + message.length
  }
  return count === causes.length ? causes : causes.slice(0, count)
}

/**
 * Returns a 422 with every cause; the message contains each once. `kind` is the Kind (not the plural), as in upstream's
 * NewInvalid.
 */
export function invalid(
  { group, kind }: { readonly group: string; readonly kind: string },
  name: string,
  found: readonly Cause[],
): ApiError {
  const causes = found.length > 1 ? limitedCauses(found) : found
  const messages = [...new Set(causes.map(({ field, message }) => (field ? `${field}: ${message}` : message)))]
  if (causes.length < found.length) messages.push(`and ${found.length - causes.length} more`)
  const text = messages.length === 1 ? messages[0]! : `[${messages.join(", ")}]`
  return new ApiError("Invalid", `${group === "" ? kind : `${kind}.${group}`} "${name}" is invalid: ${text}`, {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    ...(kind === "" ? {} : { kind }),
    causes,
  })
}
