import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Watch } from "../../../pkg/client/client.ts"

/** Begins a watch when something has come that takes time. `failed` is told why it could not begin. */
export function lateWatch<T>(
  pending: Promise<T>,
  begin: (value: T) => Watch,
  failed: (error: ApiError) => void,
): Watch {
  let watching: Watch | undefined
  let isClosed = false
  pending
    .then((value) => {
      if (!isClosed) watching = begin(value)
    })
    .catch((err: unknown) => {
      if (!isClosed) failed(ApiError.from(err))
    })
  return {
    close() {
      isClosed = true
      watching?.close()
    },
  }
}
