import type { MutatingWebhook } from "../../../../pkg/api/admissionregistration/v1/mutatingwebhookconfiguration.ts"
import type { Webhook } from "../../../../pkg/api/admissionregistration/v1/webhook.ts"
import { decodeObject } from "../../../../pkg/apimachinery/decoding/decode.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { goJson } from "../../../../pkg/go-fmt/go-json.ts"
import type { Annotate } from "../../call/annotate.ts"
import { ApiError, forbidden } from "../../../../pkg/apimachinery/errors.ts"
import { applyJsonPatch } from "../../../../pkg/apimachinery/patch/json.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Scheme } from "../../../../pkg/api/scheme.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import { PacedLog } from "../../../../pkg/log/paced-log.ts"
import type { Tracing } from "../../../../pkg/tracing/tracing.ts"
import type { AdmissionAttributes, AdmissionPlugin } from "../admission.ts"
import type { Operation } from "../../webhooks/review.ts"
import type { AdmissionContext } from "../context.ts"
import { activationOf } from "../policies/activation.ts"
import type { MatchConditionMetrics } from "../policies/match-condition-metrics.ts"
import { conditionsMatch, type Matching } from "../policies/match-conditions.ts"
import { callWebhook, type WebhookCallOptions } from "./call-webhook.ts"
import { allSeenAs, convertBetween, equivalentsIn, seenAs, type Seen } from "./equivalents.ts"
import { criteriaOf, isExemptFromWebhooks, matchedResource } from "./matching.ts"
import type { WebhookMetrics } from "./metrics.ts"
import { Reinvocation } from "../reinvocation.ts"
import type { WebhookCaller } from "../../webhooks/webhook-caller.ts"
import { WebhookSource, type ConfiguredWebhook } from "./webhook-source.ts"
import { decidedBy } from "../../authorization/decisions.ts"
import { isPending, whenReady, type MaybePromise } from "../../call/maybe-promise.ts"

/** What calls of webhooks need beside the context of all plugins. */
export interface WebhookDependencies {
  readonly caller: WebhookCaller
  readonly metrics: WebhookMetrics
  readonly conditions: MatchConditionMetrics
  readonly scheme: Scheme
  readonly log: Logger
  readonly tracing?: Tracing | undefined
}

const OPERATIONS: readonly Operation[] = ["CREATE", "UPDATE", "DELETE", "CONNECT"]

/**
 * MutatingAdmissionWebhook: calls one webhook after the other, each with the object that the one before returned.
 * Source: webhook/mutating/dispatcher.go.
 */
export function mutatingWebhooks(context: AdmissionContext, dependencies: WebhookDependencies): AdmissionPlugin {
  const source = new WebhookSource("admit", context)
  const options = callOptions("admit", context, dependencies)
  const equivalents = equivalentsIn(dependencies.scheme)

  async function admit(attributes: AdmissionAttributes, webhooks: readonly ConfiguredWebhook[]) {
    const reinvocation = (attributes.reinvocation ?? new Reinvocation()).of("MutatingAdmissionWebhook")
    const { round } = reinvocation
    reinvocation.begin(attributes.object, deepEqual)
    let current = attributes
    for (const [index, configured] of webhooks.entries()) {
      const { webhook, configuration } = configured
      const resource = matchedResource(criteriaOf(webhook), current, context.objects, equivalents)
      const id = `${configuration}/${webhook.name}`
      if (resource === undefined) continue
      const seen = await seenAs(current, resource)
      const met = meetsConditions(context, dependencies, { type: "admit", webhook, resource, seen }, current)
      if (!(isPending(met) ? await met : met) || !reinvocation.calls(id)) continue
      const patch = await callWebhook(options, configured, resource, current, { round, index })
      const object = patch.length === 0 ? current.object : await patchedBy(webhook.name, patch, resource, current)
      if (patch.length > 0) attributes.annotate?.(...patchNote(configured, patch, { round, index }))
      const changed = object !== current.object && !deepEqual(object, current.object)
      if (changed) current = { ...current, object }
      attributes.annotate?.(
        `mutation.webhook.admission.k8s.io/round_${round}_index_${index}`,
        JSON.stringify({ configuration, webhook: webhook.name, mutated: changed }),
      )
      if (changed) reinvocation.changed()
      if ((webhook as MutatingWebhook).reinvocationPolicy === "IfNeeded") reinvocation.called(id)
    }
    reinvocation.end(current.object)
    return current.object
  }

  /** Returns the object with a webhook's patch applied, and with the defaults of its kind. */
  async function patchedBy(
    webhook: string,
    patch: readonly unknown[],
    resource: Resource,
    { object, resource: own }: AdmissionAttributes,
  ): Promise<KubeObject> {
    if (object === undefined)
      throw internalError(
        `admission webhook ${JSON.stringify(webhook)} attempted to modify the object, which is not supported for this operation`,
      )
    const shown = (await convertBetween(object, own, resource))!
    const kind = dependencies.scheme.of(shown.apiVersion, shown.kind)
    if (kind === undefined) throw internalError(`no kind ${JSON.stringify(shown.kind)} is registered`)
    try {
      const json = applyJsonPatch(shown, patch)
      const decoded = decodeObject(kind, json, {
        fieldValidation: "Ignore",
        old: shown,
        refuse: internalError,
      }).object
      return (await convertBetween(decoded, resource, own))!
    } catch (err) {
      const { message, details, reason, cause } = ApiError.from(err)
      if (reason === "InternalError") throw err
      // Why a patch does not fit is told to nobody else, but a webhook's author must know it.
      throw internalError(typeof cause === "string" ? cause : (details?.causes?.[0]?.message ?? message))
    }
  }

  return {
    name: "MutatingAdmissionWebhook",
    operations: OPERATIONS,
    mayReinvoke: () => source.all().length > 0,
    admit(attributes) {
      const webhooks = source.all()
      if (webhooks.length === 0 || isExemptFromWebhooks(attributes)) return attributes.object
      return admit(attributes, webhooks)
    },
  }
}

/** Returns the annotation that shows the patch of a webhook. Source: PatchAuditAnnotation. */
function patchNote(
  { configuration, webhook }: ConfiguredWebhook,
  patch: readonly unknown[],
  { round, index }: { readonly round: number; readonly index: number },
): Parameters<Annotate> {
  const operations = patch.map((operation) => Object.fromEntries(Object.entries(operation as object).toSorted(byKey)))
  const note = { configuration, webhook: webhook.name, patch: operations, patchType: "JSONPatch" }
  const value = goJson(note, { sorted: false })
  return [`patch.webhook.admission.k8s.io/round_${round}_index_${index}`, value, "Request"]
}

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1)

/**
 * ValidatingAdmissionWebhook: calls all matching webhooks concurrently with the object as it will be stored. If several
 * refuse, the refusal of the first in order is returned. Source: webhook/validating/dispatcher.go.
 */
export function validatingWebhooks(context: AdmissionContext, dependencies: WebhookDependencies): AdmissionPlugin {
  const source = new WebhookSource("validating", context)
  const options = callOptions("validating", context, dependencies)
  const equivalents = equivalentsIn(dependencies.scheme)
  return {
    name: "ValidatingAdmissionWebhook",
    operations: OPERATIONS,
    validate(attributes) {
      const webhooks = source.all()
      if (webhooks.length === 0 || isExemptFromWebhooks(attributes)) return undefined
      const matched = webhooks.flatMap((configured) => {
        const resource = matchedResource(criteriaOf(configured.webhook), attributes, context.objects, equivalents)
        return resource === undefined ? [] : [{ configured, resource }]
      })
      if (matched.length === 0) return undefined
      const seen = allSeenAs(
        attributes,
        matched.map(({ resource }) => resource),
      )
      return whenReady(seen, (all) => askAll(matched, attributes, all))
    },
  }

  function askAll(
    matched: readonly { readonly configured: ConfiguredWebhook; readonly resource: Resource }[],
    attributes: AdmissionAttributes,
    seen: ReadonlyMap<Resource, Seen>,
  ): Promise<void> | undefined {
    const met = matched.map(({ configured, resource }) =>
      meetsConditions(
        context,
        dependencies,
        { type: "validating", webhook: configured.webhook, resource, seen: seen.get(resource)! },
        attributes,
      ),
    )
    const called = (isCalled: readonly boolean[]) =>
      callAll(
        matched.filter((_, i) => isCalled[i]),
        attributes,
      )
    return met.some(isPending)
      ? Promise.all(met.map((one) => Promise.resolve(one))).then(called)
      : called(met as readonly boolean[])
  }

  function callAll(
    calls: readonly { readonly configured: ConfiguredWebhook; readonly resource: Resource }[],
    attributes: AdmissionAttributes,
  ): Promise<void> | undefined {
    if (calls.length === 0) return undefined
    return Promise.allSettled(
      calls.map(({ configured, resource }, index) =>
        callWebhook(options, configured, resource, attributes, { round: 0, index }),
      ),
    ).then((outcomes) => {
      for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason
    })
  }
}

/**
 * Whether the match conditions of a webhook allow its call for a request.
 * @throws ApiError Forbidden when they cannot be evaluated and failurePolicy is Fail
 */
function meetsConditions(
  { authorizer, clock }: AdmissionContext,
  { conditions: metrics }: WebhookDependencies,
  {
    type,
    webhook,
    resource,
    seen,
  }: {
    readonly type: WebhookCallOptions["type"]
    readonly webhook: Webhook
    readonly resource: Resource
    readonly seen: Seen
  },
  attributes: AdmissionAttributes,
): MaybePromise<boolean> {
  const { matchConditions = [], failurePolicy, name } = webhook
  const of = { name, kind: "webhook", type, operation: attributes.operation } as const
  const matched = decidedBy(authorizer, (decider) => {
    const activation = () => activationOf({ attributes, decider, resource, ...seen })
    return conditionsMatch(matchConditions, failurePolicy, activation, { of, metrics, clock })
  })
  return whenReady(matched, (matching: Matching) => {
    if ("error" in matching) throw forbidden(attributes.resource, attributes.name, matching.error)
    if (!matching.matches) metrics.excluded(of)
    return matching.matches
  })
}

const callOptions = (
  type: WebhookCallOptions["type"],
  { clock, random }: AdmissionContext,
  { caller, metrics, log, tracing }: WebhookDependencies,
): WebhookCallOptions => ({
  type,
  caller,
  metrics,
  clock,
  random,
  tracing,
  failures: new PacedLog(clock, log),
})

const internalError = (why: string): ApiError =>
  new ApiError("InternalError", `Internal error occurred: ${why}`, { causes: [{ message: why }] })
