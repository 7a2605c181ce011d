import type { AdmissionRequest, AdmissionReview } from "../../apiserver/admission/webhooks/review.ts"
import type { ConversionRequest, ConversionReview } from "../../apiserver/apiextensions/conversion/review.ts"
import type { Review } from "../../apiserver/webhooks/review.ts"
import { failedPost, type WebhookCaller } from "../../apiserver/webhooks/webhook-caller.ts"
import type { WebhookClientConfig } from "../../../pkg/api/admissionregistration/v1/clientconfig.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"

export type { AdmissionRequest, ConversionRequest }

/** What a webhook of a test answers. */
export interface WebhookAnswer {
  readonly allowed: boolean
  /** JSON Patch operations to apply, from a mutating webhook. */
  readonly patch?: readonly object[]
  /** Shown to the client as Warning headers. */
  readonly warnings?: readonly string[]
  readonly auditAnnotations?: Readonly<Record<string, string>>
  /** Why it refuses. */
  readonly status?: { readonly message?: string; readonly reason?: string; readonly code?: number }
}

/** A webhook as a function of the test. `true` allows the request, `false` refuses it without explanation. */
export type WebhookFunction = (request: AdmissionRequest) => WebhookAnswer | boolean | Promise<WebhookAnswer | boolean>

/**
 * A conversion webhook as functions of the test. Whoever throws fails the conversion, and the message is told.
 */
export interface ConversionWebhook {
  /** One object in another version, `<group>/<version>`. Its metadata may be left as it is. */
  convert(
    object: KubeObject & Readonly<Record<string, unknown>>,
    desiredAPIVersion: string,
    request: ConversionRequest,
  ): object | Promise<object>
}

/**
 * Webhooks by where their configurations or definitions say they are: a URL, or `namespace/name` of a Service with its
 * path.
 */
export type WebhookFunctions = Readonly<Record<string, WebhookFunction | ConversionWebhook>>

/**
 * Asks functions of the test where a webhook's Service or URL is among `functions`. No Service of a test cluster has a
 * process behind it, so any other refuses the connection; other URLs are asked over HTTPS.
 */
export const functionCaller =
  (functions: WebhookFunctions, clock: Clock) =>
  (overHttps: WebhookCaller): WebhookCaller => ({
    async call(config, review, timeoutMs) {
      const webhook = functions[placeOf(config)]
      const failed = (why: string) => failedPost(config, timeoutMs, why)
      if (webhook === undefined) {
        if (config.url !== undefined) return overHttps.call(config, review, timeoutMs)
        throw failed(`no function of the test is at ${placeOf(config)}: connect: connection refused`)
      }
      const { promise: silence, reject } = Promise.withResolvers<never>()
      const timer = clock.setTimeout(() => reject(failed("context deadline exceeded")), timeoutMs)
      try {
        const answered = Promise.try(answerOf, webhook, review).catch((err: unknown) => {
          throw failed(err instanceof Error ? err.message : String(err))
        })
        return await Promise.race([answered, silence])
      } finally {
        timer.cancel()
      }
    },
  })

const placeOf = ({ url, service }: WebhookClientConfig): string =>
  url ?? `${service!.namespace}/${service!.name}${(service!.path ?? "/").replace(/^\/?/, "/").replace(/\/$/, "")}`

/** The answer as a webhook would send it. @throws Error where a webhook of the other kind is there */
async function answerOf(webhook: WebhookFunction | ConversionWebhook, review: Review): Promise<unknown> {
  if (review.kind === "ConversionReview") {
    if (typeof webhook === "function") throw new Error("the function of the test answers no ConversionReview")
    return convertedBy(webhook, review)
  }
  if (typeof webhook !== "function") throw new Error("the function of the test answers no AdmissionReview")
  return responseTo(review, await webhook(review.request))
}

async function convertedBy(webhook: ConversionWebhook, { apiVersion, kind, request }: ConversionReview) {
  const answered = (response: object) => ({ apiVersion, kind, response: { uid: request.uid, ...response } })
  try {
    const convertedObjects: object[] = []
    for (const object of request.objects)
      convertedObjects.push(await webhook.convert(object as ConvertedFrom, request.desiredAPIVersion, request))
    return answered({ result: { status: "Success" }, convertedObjects })
  } catch (err) {
    return answered({ result: { status: "Failed", message: err instanceof Error ? err.message : String(err) } })
  }
}
type ConvertedFrom = Parameters<ConversionWebhook["convert"]>[0]

function responseTo({ apiVersion, request: { uid } }: AdmissionReview, answer: WebhookAnswer | boolean): unknown {
  const { patch, ...response } = typeof answer === "boolean" ? { allowed: answer } : { patch: undefined, ...answer }
  return {
    apiVersion,
    kind: "AdmissionReview",
    response: {
      uid,
      ...response,
      ...(patch === undefined || patch.length === 0
        ? {}
        : { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") }),
    },
  }
}
