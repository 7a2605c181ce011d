import { isJsonObject } from "../../../../pkg/apimachinery/json/json-value.ts"
import type { ConversionReview, ConversionReviewVersion } from "../../webhooks/review.ts"

/** Returns the first version in the webhook's list that this server supports; undefined when there is none. */
export function conversionReviewVersion(versions: readonly string[]): ConversionReviewVersion | undefined {
  for (const version of versions)
    if (version === "v1" || version === "v1beta1") return `apiextensions.k8s.io/${version}`
  return undefined
}

const V1 = "apiextensions.k8s.io/v1"

/**
 * Returns the converted objects of a response, unchecked.
 * @throws Error with upstream's message when it is not a valid response to this review. Source:
 * conversion/webhook_converter.go getConvertedObjectsFromResponse.
 */
export function convertedObjects(
  answer: unknown,
  { apiVersion, request: { uid } }: ConversionReview,
): readonly unknown[] {
  const review = (isJsonObject(answer) ? answer : {}) as Readonly<Record<string, unknown>>
  // Kind and uid of v1beta1 responses are not checked, as upstream.
  if (apiVersion === V1) checkKind(text(review["apiVersion"]), text(review["kind"]))
  const { response } = review
  if (!isJsonObject(response)) throw new Error("no response provided")
  const { uid: sentUid, result, convertedObjects = [] } = response as Readonly<Record<string, unknown>>
  if (apiVersion === V1 && text(sentUid) !== uid)
    throw new Error(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(text(sentUid))}`)
  const { status, message } = (isJsonObject(result) ? result : {}) as Readonly<Record<string, unknown>>
  if (status !== "Success")
    throw new Error(
      text(message) === "" ? `response.result.status was '${text(status)}', not 'Success'` : text(message),
    )
  return Array.isArray(convertedObjects) ? (convertedObjects as readonly unknown[]) : []
}

function checkKind(apiVersion: string, kind: string): void {
  if (apiVersion === V1 && kind === "ConversionReview") return
  const [version = "", group = ""] = apiVersion.split("/").toReversed()
  // Upstream's client has another message for kinds in the scheme it knows.
  if (group === "apiextensions.k8s.io" && kind !== "" && kind !== "ConversionReview")
    throw new Error(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme ` +
        '"k8s.io/apiserver/pkg/util/webhook/client.go:71"',
    )
  if (apiVersion === "apiextensions.k8s.io/v1beta1" && kind === "ConversionReview")
    throw new Error("converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion")
  throw new Error(`expected webhook response of ${V1}, Kind=ConversionReview, got ${group}/${version}, Kind=${kind}`)
}

const text = (value: unknown): string => (typeof value === "string" ? value : "")
