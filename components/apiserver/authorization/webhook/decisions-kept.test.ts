import { describe, expect, test } from "bun:test"
import { realClock } from "../../../../pkg/clock/real.ts"
import { silent } from "../../../../pkg/log/log.ts"
import { Registry } from "../../../../pkg/metrics/registry.ts"
import { WebhookAuthorizer } from "./webhook-authorizer.ts"
import { AuthorizationWebhookMetrics } from "./webhook-metrics.ts"

/** An authorizer whose webhook answers as `answer` says; its clock is at `state.now`. */
function authorizerOf(state: { now: number }, answer: () => Promise<object>) {
  const sent: unknown[] = []
  const clock = { ...realClock, monotonic: () => state.now }
  const authorizer = new WebhookAuthorizer({
    name: "hook",
    webhook: {
      async post(body) {
        sent.push(JSON.parse(body))
        const status = await answer()
        return JSON.stringify({ apiVersion: "authorization.k8s.io/v1beta1", kind: "SubjectAccessReview", status })
      },
    },
    configuration: {
      authorizedTTL: "5m",
      cacheAuthorizedRequests: true,
      unauthorizedTTL: "30s",
      cacheUnauthorizedRequests: true,
      subjectAccessReviewVersion: "v1beta1",
      failurePolicy: "Deny",
      connectionInfo: {},
    },
    metrics: new AuthorizationWebhookMetrics(new Registry(), clock),
    clock,
    log: silent,
  })
  const ask = async (name: string, path = "/a") =>
    authorizer.authorize({ user: { name, groups: ["dev"] }, verb: "get", path })
  return { ask, sent }
}

describe("the decisions of a webhook", () => {
  test.each([
    ["permissions", true, 300_000],
    ["refusals", false, 30_000],
  ] as const)("that are %s count for their own time and no longer", async (_what, allowed, ms) => {
    const state = { now: 0 }
    const { ask, sent } = authorizerOf(state, () => Promise.resolve({ allowed }))
    expect(await ask("jane")).toMatchObject({ allowed })
    state.now = ms - 1
    await ask("jane")
    expect(sent).toHaveLength(1)
    state.now = ms
    await ask("jane")
    expect(sent).toHaveLength(2)
  })

  test("are asked for in the older version with the groups in the singular", async () => {
    const { ask, sent } = authorizerOf({ now: 0 }, () => Promise.resolve({ allowed: true }))
    await ask("jane")
    expect(sent).toEqual([
      {
        apiVersion: "authorization.k8s.io/v1beta1",
        kind: "SubjectAccessReview",
        metadata: {},
        spec: { user: "jane", group: ["dev"], nonResourceAttributes: { path: "/a", verb: "get" } },
      },
    ])
  })

  test("are there for others while one user has very many questions that wait", async () => {
    // given a user whose questions wait for a webhook that hangs
    const answer = Promise.withResolvers<object>()
    const { ask, sent } = authorizerOf({ now: 0 }, () => answer.promise)
    const waiting = Array.from({ length: 2000 }, (_, i) => ask("greedy", `/${i}`))
    expect(sent.length).toBeLessThan(1000)

    // when another user has one
    const other = ask("jane")
    answer.resolve({ allowed: true })

    // then it is answered, and some of those of the first are refused
    expect(await other).toEqual({ allowed: true, reason: "" })
    expect((await Promise.all(waiting)).filter(({ isDenied }) => isDenied).length).toBeGreaterThan(1000)
    expect(await ask("greedy", "/later")).toMatchObject({ allowed: true })
  })
})
