import { isJsonObject } from "../../../pkg/apimachinery/json/json-value.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { KubeconfigWebhook, WebhookBackoff } from "./kubeconfig-webhook.ts"

/** What a webhook is sent and sends back, such as a TokenReview. */
export interface ReviewKind {
  readonly apiVersion: string
  readonly kind: string
}
type Json = Readonly<Record<string, unknown>>

/** Source: apiserver pkg/server/options DefaultAuthWebhookRetryBackoff, pkg/util/webhook DefaultShouldRetry. */
const BACKOFF: WebhookBackoff = {
  initialMs: 500,
  attempts: 5,
  isWorthIt: ({ code, retryAfter, message }) =>
    code === 429 || code === 500 || code === 504 || retryAfter !== undefined || message.endsWith(": EOF"),
}

/**
 * Sends a review with a spec, and resolves to the status in the answer.
 * @throws Error where the webhook gives no answer of that kind
 */
export async function reviewed(
  webhook: Pick<KubeconfigWebhook, "post">,
  review: ReviewKind,
  spec: object,
): Promise<Json> {
  const { apiVersion, kind } = review
  const text = await webhook.post(JSON.stringify({ apiVersion, kind, metadata: {}, spec }), BACKOFF)
  let answer: unknown
  try {
    answer = JSON.parse(text)
  } catch (err) {
    throw new Error(`the answer of the webhook is no JSON: ${errorMessage(err)}`, { cause: err })
  }
  if (!isJsonObject(answer)) throw new Error("the answer of the webhook is no object")
  if (answer["apiVersion"] !== apiVersion || answer["kind"] !== kind)
    throw new Error(
      `the answer of the webhook must be a ${kind} of ${apiVersion}, not ${shown(answer["kind"])} of ` +
        shown(answer["apiVersion"]),
    )
  return objectIn(answer, "status")
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? "nothing").slice(0, 100)

const wrong = (name: string, what: string) => new Error(`the answer of the webhook is wrong: ${name} must be ${what}`)

/** Returns a field of an answer that is an object; an empty one where it is absent. @throws Error for another type */
export function objectIn(of: Json, name: string): Json {
  const value = of[name] ?? {}
  if (!isJsonObject(value)) throw wrong(name, "an object")
  return value
}

/** Returns a field that is a text; the empty one where it is absent. @throws Error for another type */
export function textIn(of: Json, name: string): string {
  const value = of[name] ?? ""
  if (typeof value !== "string") throw wrong(name, "a text")
  return value
}

/** Returns a field that is true or false; false where it is absent. @throws Error for another type */
export function booleanIn(of: Json, name: string): boolean {
  const value = of[name] ?? false
  if (typeof value !== "boolean") throw wrong(name, "true or false")
  return value
}

/** Returns a field that is a list of texts; an empty one where it is absent. @throws Error for another type */
export function textsIn(of: Json, name: string): readonly string[] {
  const value = of[name] ?? []
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) throw wrong(name, "a list of texts")
  return value
}
