import { decodeMessage, typed } from "../../../../pkg/apimachinery/decoding/decode.ts"
import { DecodeError } from "../../../../pkg/apimachinery/decoding/decoder-cursor.ts"
import { e, f, message } from "../../../../pkg/apimachinery/fields.ts"
import { StatusMessage } from "../../../../pkg/apimachinery/status.ts"
import { WebhookCallError } from "../../webhooks/webhook-caller.ts"
import type { ReviewVersion } from "../../webhooks/review.ts"

/** The response in an AdmissionReview, so far as it is read. Source: k8s.io/api admission/v1/types.go. */
const AdmissionResponse = message("admission.v1.AdmissionResponse", "What a webhook decides about a request.", {
  uid: f.string(1, "The request that this is about."),
  allowed: f.bool(2, "Whether the request is admitted."),
  status: f.message(3, StatusMessage, "Why the request is refused."),
  patch: f.bytes(4, "How the object is changed."),
  patchType: f.string(5, "The form of the patch."),
  auditAnnotations: f.map(6, e.string, "What the audit log shall say."),
  warnings: f.list(7, e.string, "What the client shall be told."),
})

const Review = typed(
  message("admission.v1.AdmissionReview", "A request to a webhook, and its answer.", {
    response: f.message(2, AdmissionResponse, "The answer."),
  }),
)

const SCHEME = '"k8s.io/apiserver/pkg/util/webhook/client.go:71"'
const KNOWN = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"]

/**
 * Refuses an answer that Go's client could not decode into an AdmissionReview of the version that was sent: one of
 * another kind, or with a value of a wrong type. A webhook that sends it has failed: it has not refused the request.
 * @throws WebhookCallError in Go's words. Source: apiserver pkg/util/webhook/client.go; client-go rest/request.go Into
 */
export function checkReviewType(answer: Readonly<Record<string, unknown>>, wanted: ReviewVersion): void {
  const { apiVersion, kind } = answer
  // One that names neither is decoded, and refused later.
  if (typeof apiVersion === "string" && typeof kind === "string" && apiVersion !== "" && kind !== "") {
    if (kind !== "AdmissionReview" || !KNOWN.includes(apiVersion))
      throw new WebhookCallError(
        `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme ${SCHEME}`,
      )
    if (apiVersion !== wanted)
      throw new WebhookCallError(
        `converting (${versionOf(apiVersion)}.AdmissionReview) to (${versionOf(wanted)}.AdmissionReview): unknown conversion`,
      )
  }
  try {
    decodeMessage(Review, answer)
  } catch (err) {
    throw err instanceof DecodeError ? new WebhookCallError(err.message) : err
  }
}

const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf("/") + 1)
