import type { AdmissionReview } from "../admission/webhooks/review.ts"
import type { ConversionReview } from "../apiextensions/conversion/review.ts"

/** What webhooks are sent. */
export type Review = AdmissionReview | ConversionReview
