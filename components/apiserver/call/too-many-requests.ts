import { ApiError } from "../../../pkg/apimachinery/errors.ts"

/** The Retry-After of rejected requests, in seconds. Source: apiserver pkg/server/filters/maxinflight.go retryAfter. */
export const RETRY_AFTER_SECONDS = 1

/** Returns a 429 for a user who has used up its share; `what` names what is shared. */
export const shareUsedUp = (what: string): ApiError =>
  new ApiError("TooManyRequests", `too many ${what} of this user, please try again later`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })

/** A 429 for a request that found no seat, and could not wait or waited too long. */
export class TurnedAway extends ApiError {
  constructor(readonly seconds: number) {
    super("TooManyRequests", TURNED_AWAY, { retryAfterSeconds: seconds })
  }
}

/** Source: apiserver pkg/server/filters/priority-and-fairness.go tooManyRequests. */
export const TURNED_AWAY = "Too many requests, please try again later."
