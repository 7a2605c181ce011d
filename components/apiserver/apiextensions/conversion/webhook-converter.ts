import type { CustomResourceDefinition } from "../../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { uuid, type Random } from "../../../../pkg/clock/random.ts"
import { traced, type Tracing } from "../../../../pkg/tracing/tracing.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { WebhookClientConfig } from "../../../../pkg/api/admissionregistration/v1/clientconfig.ts"
import type { WebhookCaller } from "../../webhooks/webhook-caller.ts"
import { checkedConversion, conversionFailure, shownKind } from "./converted-object.ts"
import type { ConversionFailureType, ConversionMetrics } from "./metrics.ts"
import { conversionReviewVersion, convertedObjects } from "./review.ts"
import type { ConversionReview } from "../../webhooks/review.ts"
import { nextTurn } from "../../../../pkg/clock/next-turn.ts"

export interface ConverterOptions {
  readonly caller: WebhookCaller
  readonly clock: Clock
  readonly random: Random
  readonly metrics: ConversionMetrics
  readonly tracing?: Tracing | undefined
}

/** Converts objects, which may have different versions, to `apiVersion`; all of them or none. */
export type Convert = (objects: readonly KubeObject[], apiVersion: string) => Promise<readonly KubeObject[]>

/** The timeout of upstream's client. Source: apiserver pkg/util/webhook/authentication.go. */
const TIMEOUT_MS = 30_000
/**
 * The most objects in one review, and their most characters, so that a long list needs few calls and none needs much
 * memory.
 */
const MOST_OBJECTS = 250
const MOST_CHARACTERS = 2 * 1024 * 1024
/** The most reviews of one list in progress at once. */
const MOST_REVIEWS = 4

/**
 * Returns a converter that calls the webhook of a definition. Differs from upstream: one review carries many objects of
 * a list, where upstream sends one review for each object. Source: conversion/webhook_converter.go.
 * @throws ApiError with code 500 and upstream's message when the webhook fails
 */
export function webhookConverter(definition: CustomResourceDefinition, options: ConverterOptions): Convert {
  const { webhook } = definition.spec.conversion ?? {}
  const version = conversionReviewVersion(webhook?.conversionReviewVersions ?? [])
  const config = (webhook?.clientConfig ?? {}) as WebhookClientConfig

  async function converted(objects: readonly KubeObject[], apiVersion: string): Promise<readonly KubeObject[]> {
    if (version === undefined) throw conversionFailure("no supported conversion review versions")
    const { clock, random, caller, metrics, tracing } = options
    const first = objects[0]!
    const began = clock.monotonic()
    const ended = (failure: ConversionFailureType | undefined) =>
      metrics.asked({
        definition: definition.metadata.name ?? "",
        from: versionOf(first.apiVersion),
        to: versionOf(apiVersion),
        failure,
        seconds: (clock.monotonic() - began) / 1000,
      })
    const review: ConversionReview = {
      apiVersion: version,
      kind: "ConversionReview",
      request: { uid: uuid(random), desiredAPIVersion: apiVersion, objects: objects.map(withoutRevision) },
      response: { uid: "", convertedObjects: null, result: { metadata: {} } },
    }
    let failure: ConversionFailureType = "conversion_webhook_call_failure"
    try {
      const answer = await withFailureMessage(first, () =>
        traced(tracing, "Call conversion webhook", () => caller.call(config, review, TIMEOUT_MS), {
          "custom-resource-definition": definition.metadata.name,
          "desired-api-version": apiVersion,
          "object-count": objects.length,
        }),
      )
      failure = "conversion_webhook_malformed_response_failure"
      const sent = await withFailureMessage(first, () => convertedObjects(answer, review))
      failure = "conversion_webhook_partial_response_failure"
      if (sent.length !== objects.length)
        throw conversionFailure(
          `conversion webhook for ${shownKind(first)} returned ${sent.length} objects, expected ${objects.length}`,
        )
      failure = "conversion_webhook_invalid_converted_object_failure"
      const checked = objects.map((object, i) => checkedConversion(object, sent[i], apiVersion))
      ended(undefined)
      return checked
    } catch (err) {
      ended(failure)
      throw err
    }
  }

  return async (objects, apiVersion) => {
    const wanted = objects.filter((object) => object.apiVersion !== apiVersion)
    const found = new Map<KubeObject, KubeObject>()
    let running: Promise<void>[] = []
    for (let from = 0; from < wanted.length;) {
      // Thousands of objects are measured, and written into reviews, one review in a turn.
      if (from > 0) await nextTurn(options.clock)
      const part = partOf(wanted, from)
      from += part.length
      const under = converted(part, apiVersion).then((all) => {
        for (const [i, object] of all.entries()) found.set(part[i]!, object)
      })
      under.catch(() => undefined) // it is awaited below, perhaps in a later turn
      running.push(under)
      if (running.length === MOST_REVIEWS) {
        await Promise.all(running)
        running = []
      }
    }
    await Promise.all(running)
    return objects.map((object) => found.get(object) ?? object)
  }
}

/** Returns the objects from one on that go into one review. */
function partOf(objects: readonly KubeObject[], from: number): readonly KubeObject[] {
  if (from === objects.length - 1) return objects.slice(from)
  let characters = 0
  let to = from
  while (to < objects.length && to - from < MOST_OBJECTS) {
    characters += JSON.stringify(objects[to]).length
    if (to > from && characters > MOST_CHARACTERS) break
    to++
  }
  return objects.slice(from, to)
}

/** @throws ApiError with the message that the conversion of `first` failed */
async function withFailureMessage<T>(first: KubeObject, ask: () => T | Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (err) {
    throw conversionFailure(`conversion webhook for ${shownKind(first)} failed: ${(err as Error).message}`)
  }
}

/** Upstream converts objects when it reads their bytes, before they get the revision at which these were written. */
function withoutRevision(object: KubeObject): KubeObject {
  const { resourceVersion, ...metadata } = object.metadata
  return resourceVersion === undefined ? object : { ...object, metadata }
}

const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf("/") + 1)
