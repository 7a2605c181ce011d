import { ApiError } from "../../pkg/apimachinery/errors.ts"

/** What a request is told before the server has started and after it has stopped. */
export const notRunning = (): ApiError => new ApiError("ServiceUnavailable", "the API server is not running")
