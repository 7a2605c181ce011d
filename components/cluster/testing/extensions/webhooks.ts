import type {
  Review,
  AdmissionRequest,
  AdmissionReview,
  ConversionRequest,
  ConversionReview,
} from "../../../apiserver/webhooks/review.ts"
import { failedPost, type WebhookCaller } from "../../../apiserver/webhooks/webhook-caller.ts"
import type { WebhookClientConfig } from "../../../../pkg/api/admissionregistration/v1/clientconfig.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"

export type { AdmissionRequest, ConversionRequest }

/** The response of a test's admission webhook. */
export interface WebhookAnswer {
  readonly allowed: boolean
  /** JSON Patch operations of a mutating webhook. */
  readonly patch?: readonly object[]
  /** Sent to the client as Warning headers. */
  readonly warnings?: readonly string[]
  readonly auditAnnotations?: Readonly<Record<string, string>>
  /** Why it refuses. */
  readonly status?: { readonly message?: string; readonly reason?: string; readonly code?: number }
}

/** An admission webhook as a function of the test. `true` allows the request, `false` refuses it without a reason. */
export type WebhookFunction = (request: AdmissionRequest) => WebhookAnswer | boolean | Promise<WebhookAnswer | boolean>

/** A conversion webhook as functions of the test. An exception fails the conversion, with its message. */
export interface ConversionWebhook {
  /** Returns one object in another version, `<group>/<version>`. The metadata may stay as it is. */
  convert(
    object: KubeObject & Readonly<Record<string, unknown>>,
    desiredAPIVersion: string,
    request: ConversionRequest,
  ): object | Promise<object>
}

/**
 * Webhooks by the place in their configurations or definitions: a URL, or `namespace/name` of a Service with its path.
 */
export type WebhookFunctions = Readonly<Record<string, WebhookFunction | ConversionWebhook>>

/**
 * Returns a caller that calls functions of the test when a webhook's Service or URL is among `functions`. Other
 * Services refuse the connection, since no process is behind them; other URLs are called over HTTPS.
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
        const answered = (async () => answerOf(webhook, review))().catch((err: unknown) => {
          throw failed(errorMessage(err))
        })
        return await Promise.race([answered, silence])
      } finally {
        timer.cancel()
      }
    },
  })

const placeOf = ({ url, service }: WebhookClientConfig): string =>
  url ?? `${service!.namespace}/${service!.name}${(service!.path ?? "/").replace(/^\/?/, "/").replace(/\/$/, "")}`

/**
 * Returns the response that the webhook would send. @throws Error when the function is for the other kind of webhook
 */
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
    return answered({ result: { status: "Failed", message: errorMessage(err) } })
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
