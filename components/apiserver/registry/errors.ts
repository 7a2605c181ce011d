import { alreadyExists, ApiError, conflict, MODIFIED, notFound } from "../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { StorageError } from "../../../pkg/storage/storage.ts"

/**
 * Turns an error of the store into an ApiError. This is the only place that does. Source: apiserver
 * pkg/storage/errors/storage.go.
 */
export function apiErrorFrom(err: unknown, resource: Resource, name: string): ApiError {
  if (!(err instanceof StorageError)) return ApiError.from(err)
  switch (err.code) {
    case "exists":
      return alreadyExists(resource, name)
    case "conflict":
      return conflict(resource, name, MODIFIED)
    case "missing":
      return notFound(resource, name)
    case "compacted":
      return new ApiError("Expired", "The resourceVersion for the provided list is too old.")
    case "unavailable":
      return new ApiError("ServiceUnavailable", err.message, { retryAfterSeconds: 1 }, { cause: err })
    case "unknown":
      return new ApiError("Timeout", err.message, undefined, { cause: err })
    case "oversized":
      // In etcd's words, as objects that are too large for every store (object-size.ts).
      return new ApiError("Unknown", "etcdserver: request is too large", undefined, { cause: err })
    case "full":
    case "readonly":
    case "damaged":
    case "lost":
    case "locked":
    case "encryption":
    case "newer":
      return new ApiError(
        "InternalError",
        `Internal error occurred: ${err.message}`,
        { causes: [{ message: err.message }] },
        { cause: err },
      )
  }
}
