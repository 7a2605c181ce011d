import type { PacedLog } from "../../../../pkg/log/paced-log.ts"
import {
  ApiError,
  badRequest,
  type Reason,
  HTTP_CODE,
  type StatusDetails,
} from "../../../../pkg/apimachinery/errors.ts"
import { isJsonObject } from "../../../../pkg/apimachinery/json/json-value.ts"
import { uuid } from "../../../../pkg/clock/random.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { Random } from "../../../../pkg/clock/random.ts"
import { traced, type Tracing } from "../../../../pkg/tracing/tracing.ts"
import type { Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes } from "../admission.ts"
import { seenAs } from "./equivalents.ts"
import { admissionReview, readResponse, reviewVersion, UndecodablePatch, UnsupportedPatchType } from "./review.ts"
import { checkReviewType } from "./review-type.ts"
import { WebhookCallError, type WebhookCaller } from "../../webhooks/webhook-caller.ts"
import type { WebhookMetrics } from "./metrics.ts"
import type { ConfiguredWebhook, WebhookType } from "./webhook-source.ts"

export interface WebhookCallOptions {
  readonly type: WebhookType
  readonly caller: WebhookCaller
  readonly clock: Clock
  readonly random: Random
  readonly metrics: WebhookMetrics
  readonly tracing?: Tracing | undefined
  /** Tells which webhooks fail. */
  readonly failures: PacedLog
}

/** The key of the audit annotation for a webhook that failed and was ignored. */
const FAILED_OPEN: Readonly<Record<WebhookType, string>> = {
  admit: "failed-open.mutation.webhook.admission.k8s.io",
  validating: "failed-open.validating.webhook.admission.k8s.io",
}

/**
 * Calls one webhook for a request. Returns the JSON Patch of its response; an empty list when the call failed and
 * failurePolicy is Ignore.
 * @throws ApiError when the webhook refuses the request, or fails and failurePolicy is Fail. Source:
 * webhook/mutating/dispatcher.go, webhook/validating/dispatcher.go.
 */
export async function callWebhook(
  options: WebhookCallOptions,
  { webhook, configuration }: ConfiguredWebhook,
  resource: Resource,
  attributes: AdmissionAttributes,
  place: { readonly round: number; readonly index: number },
): Promise<readonly unknown[]> {
  const { type, clock, metrics } = options
  const { name, failurePolicy } = webhook
  const began = clock.monotonic()
  const observe = (rejected: boolean, code: number) => {
    const ms = clock.monotonic() - began
    attributes.waited?.(ms)
    metrics.called({
      name,
      type,
      operation: attributes.operation,
      code,
      rejected,
      seconds: ms / 1000,
    })
  }
  try {
    const response = await answerOf(options, { webhook, configuration }, resource, attributes)
    for (const [key, value] of Object.entries(response.auditAnnotations)) attributes.annotate?.(`${name}/${key}`, value)
    for (const warning of response.warnings) attributes.warn(warning)
    if (!response.allowed) throw refusal(name, response.result)
    observe(false, 200)
    return response.patch
  } catch (err) {
    if (!(err instanceof WebhookCallError)) {
      const { code } = ApiError.from(err)
      observe(true, code)
      metrics.refused({ name, type, operation: attributes.operation, why: "no_error", code })
      throw err
    }
    const message = `failed calling webhook ${JSON.stringify(name)}: ${err.message}`
    const ignored = failurePolicy === "Ignore"
    observe(!ignored, err.code)
    const told = ignored ? "A webhook failed and was ignored" : "A webhook failed, and requests with it"
    options.failures.warn(`${configuration}/${name}`, told, { webhook: name, configuration, error: err.message })
    if (!ignored) {
      metrics.refused({ name, type, operation: attributes.operation, why: "calling_webhook_error", code: err.code })
      throw new ApiError("InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] })
    }
    metrics.failedOpen(name, type)
    attributes.annotate?.(`${FAILED_OPEN[type]}/round_${place.round}_index_${place.index}`, name)
    return []
  }
}

async function answerOf(
  { type, caller, random, tracing }: WebhookCallOptions,
  { webhook, configuration }: ConfiguredWebhook,
  resource: Resource,
  attributes: AdmissionAttributes,
) {
  const { name, sideEffects, admissionReviewVersions, clientConfig, timeoutSeconds } = webhook
  if (attributes.options.dryRun === true && sideEffects !== "None" && sideEffects !== "NoneOnDryRun")
    throw badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`)
  const version = reviewVersion(admissionReviewVersions)
  if (version === undefined)
    throw new WebhookCallError(
      "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
      400,
    )
  const uid = uuid(random)
  const review = admissionReview(version, uid, attributes, {
    resource,
    ...(await seenAs(attributes, resource)),
  })
  let answer: unknown
  try {
    answer = await traced(
      tracing,
      `Call ${type === "admit" ? "mutating" : "validating"} webhook`,
      () => caller.call(clientConfig, review, timeoutSeconds * 1000),
      {
        configuration,
        webhook: name,
        resource: resource.plural,
        subresource: attributes.subresource,
        operation: attributes.operation,
        UID: uid,
      },
    )
    if (isJsonObject(answer)) checkReviewType(answer as Readonly<Record<string, unknown>>, version)
  } catch (err) {
    if (err instanceof WebhookCallError) throw new WebhookCallError(`failed to call webhook: ${err.message}`, err.code)
    throw err
  }
  try {
    return readResponse(answer, review, type === "admit")
  } catch (err) {
    if (err instanceof UndecodablePatch || err instanceof UnsupportedPatchType) throw new WebhookCallError(err.message)
    throw new WebhookCallError(`received invalid webhook response: ${(err as Error).message}`)
  }
}

/** Returns the error for a request that a webhook refused. Source: webhook/errors/statuserror.go ToStatusErr. */
function refusal(webhook: string, result: Readonly<Record<string, unknown>> = {}): ApiError {
  const { message, reason, code, details } = result
  const refused = `admission webhook ${JSON.stringify(webhook)} denied the request`
  const words =
    typeof message === "string" && message !== ""
      ? `${refused}: ${message}`
      : typeof reason === "string" && reason !== ""
        ? `${refused}: ${reason}`
        : `${refused} without explanation`
  const known = typeof reason === "string" && reason in HTTP_CODE ? (reason as Reason) : "Unknown"
  return new ApiError(known, words, details as StatusDetails | undefined, {
    code: typeof code === "number" && code >= 400 ? code : 400,
    ...(known === "Unknown" && typeof reason === "string" && reason !== "" ? { shownReason: reason } : {}),
  })
}
