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

/** 429, for a request that finds no seat and may not wait, or has waited too long. */
export class TurnedAway extends ApiError {
  constructor(readonly seconds: number) {
    super("TooManyRequests", TURNED_AWAY, { retryAfterSeconds: seconds })
  }
}

/** Source: apiserver pkg/server/filters/priority-and-fairness.go tooManyRequests. */
export const TURNED_AWAY = "Too many requests, please try again later."
