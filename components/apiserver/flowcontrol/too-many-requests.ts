import { ApiError } from "../../../pkg/apimachinery/errors.ts"

/**
 * Seconds after which whoever is turned away may come again. Source: apiserver pkg/server/filters/maxinflight.go
 * retryAfter.
 */
export const RETRY_AFTER_SECONDS = 1

/** 429, for a user who takes more than its share of something; `what` names that. */
export const shareUsedUp = (what: string): ApiError =>
  new ApiError("TooManyRequests", `too many ${what} of this user, please try again later`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
