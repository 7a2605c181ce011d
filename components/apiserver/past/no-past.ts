import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Past } from "./past.ts"

/** Refuses all requests for the past, where the history is off: the log is kept for watches alone. */
export const NO_PAST: Past = {
  serve() {
    throw new ApiError(
      "MethodNotAllowed",
      "the history is off: this server keeps no earlier states (k3ts server --history-age 0)",
    )
  },
}
