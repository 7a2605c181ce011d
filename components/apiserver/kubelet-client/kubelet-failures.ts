import { ApiError, badRequest } from "../../../pkg/apimachinery/errors.ts"
import { dialFailure } from "../proxy/dial-failure.ts"

/** The longest error that is passed on, in bytes. Source: pkg/registry/core/pod/rest/log.go MaxTailLines … */
export const MOST_ERROR_BYTES = 64 * 1024

/** The kubelet's refusal as the API server passes it on. Source: registry/generic/rest/response_checker.go. */
export function refused(code: number, text: string): ApiError {
  const message = text.slice(0, MOST_ERROR_BYTES).replace(/\n$/, "")
  if (code === 400) return badRequest(message)
  if (code === 404) return new ApiError("NotFound", message)
  return new ApiError("InternalError", message, undefined, code < 400 || code === 500 ? {} : { code })
}

/** Returns why a kubelet could not be reached. */
export function reasonOf(err: unknown, address: string): string {
  const { code, message } = err as NodeJS.ErrnoException
  return dialFailure(code, address) ?? message
}
