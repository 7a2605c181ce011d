import type { AdmissionReview } from "../admission/webhooks/review.ts"
import type { ConversionReview } from "../apiextensions/conversion/review.ts"

/** The request to a webhook. */
export type Review = AdmissionReview | ConversionReview
