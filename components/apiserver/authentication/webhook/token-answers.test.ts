import { describe, expect, test } from "bun:test"
import { realClock } from "../../../../pkg/clock/real.ts"
import { silent } from "../../../../pkg/log/log.ts"
import { createTokenWebhook } from "./token-webhook.ts"

/** The answers of a webhook that knows the token `known`, as long as `isKnown` says so; its clock is ahead by `aheadMs`. */
function webhookOf(state: { isKnown: boolean; aheadMs: number }) {
  let calls = 0
  const { authenticate } = createTokenWebhook({
    webhook: {
      post(body) {
        calls++
        const { spec } = JSON.parse(body) as { spec: { token: string } }
        const status =
          state.isKnown && spec.token === "known" ? { authenticated: true, user: { username: "jane" } } : {}
        return Promise.resolve(JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", status }))
      },
    },
    version: "v1",
    cacheMs: 120_000,
    apiAudiences: ["api"],
    clock: { ...realClock, monotonic: () => state.aheadMs },
    log: silent,
  })
  const whoIs = async (token: string) => {
    const verdict = await authenticate(token)
    return verdict !== undefined && "user" in verdict ? verdict.user.name : undefined
  }
  return { whoIs, calls: () => calls }
}

describe("the answers of a webhook that authenticates tokens", () => {
  test("count for their time and no longer, whether they name a user or none", async () => {
    // given a token that was known
    const state = { isKnown: true, aheadMs: 0 }
    const { whoIs, calls } = webhookOf(state)
    expect(await whoIs("known")).toBe("jane")

    // when the webhook knows it no longer, then it counts until its time is over
    state.isKnown = false
    state.aheadMs = 119_000
    expect(await whoIs("known")).toBe("jane")
    state.aheadMs = 121_000
    expect(await whoIs("known")).toBeUndefined()
    expect(calls()).toBe(2)

    // when it knows it again, then the refusal counts for its time too
    state.isKnown = true
    expect(await whoIs("known")).toBeUndefined()
    expect(calls()).toBe(2)
    state.aheadMs = 242_000
    expect(await whoIs("known")).toBe("jane")
  })

  test("stay, however many tokens come that nobody knows", async () => {
    const { whoIs, calls } = webhookOf({ isKnown: true, aheadMs: 0 })
    expect(await whoIs("known")).toBe("jane")
    for (let i = 0; i < 20_000; i++) await whoIs(`junk-${i}`)
    const before = calls()
    expect(await whoIs("known")).toBe("jane")
    expect(calls()).toBe(before)
  })
})
