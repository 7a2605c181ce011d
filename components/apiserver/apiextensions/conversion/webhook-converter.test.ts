import { expect, test } from "bun:test"
import type { CustomResourceDefinition } from "../../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { seededRandom } from "../../../../pkg/clock/random.ts"
import { realClock } from "../../../../pkg/clock/real.ts"
import type { WebhookCaller } from "../../webhooks/webhook-caller.ts"
import type { ConversionReview } from "../../webhooks/review.ts"
import { webhookConverter } from "./webhook-converter.ts"

test("thousands of objects are converted in their order, one review in a turn, and a few reviews at once", async () => {
  // given a webhook that answers many turns later
  let [turns, underway, most] = [0, 0, 0]
  const sizes: number[] = []
  const caller: WebhookCaller = {
    async call(_config, review) {
      const { request } = review as ConversionReview
      sizes.push(request.objects.length)
      most = Math.max(most, ++underway)
      for (let i = 0; i < 30; i++) await new Promise<void>((resolve) => void setImmediate(resolve))
      underway--
      const apiVersion = request.desiredAPIVersion
      const convertedObjects = request.objects.map((object) => ({ ...object, apiVersion }))
      return { ...(review as object), response: { uid: request.uid, result: { status: "Success" }, convertedObjects } }
    },
  }
  const clock = {
    ...realClock,
    afterTurn(run: () => void) {
      turns++
      realClock.afterTurn(run)
    },
  }
  const webhook = { conversionReviewVersions: ["v1"], clientConfig: { url: "https://webhook.example" } }
  const definition = { metadata: { name: "foos.a" }, spec: { conversion: { strategy: "Webhook", webhook } } }
  const convert = webhookConverter(definition as unknown as CustomResourceDefinition, {
    caller,
    clock,
    random: seededRandom(1),
    metrics: { asked: () => undefined } as never,
  })
  const objects = Array.from({ length: 1600 }, (_, i) => ({
    apiVersion: "a/v1",
    kind: "Foo",
    metadata: { name: `n${i}` },
  }))
  // when
  const converted = await convert(objects, "a/v2")
  // then
  expect(converted).toEqual(objects.map((object) => ({ ...object, apiVersion: "a/v2" })))
  expect(sizes).toEqual([250, 250, 250, 250, 250, 250, 100])
  expect(turns).toBe(6)
  expect(most).toBe(4)
})
