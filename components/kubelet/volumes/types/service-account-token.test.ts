import { describe, expect, test } from "bun:test"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import { decodeObject } from "../../../../pkg/apimachinery/decoding/decode.ts"
import { formatTime } from "../../../../pkg/apimachinery/scalars/time.ts"
import type { ApiCall } from "../../../../pkg/client/client.ts"
import { newClient } from "../../../../pkg/client/new-client.ts"
import { VirtualClock } from "../../../../pkg/clock/virtual.ts"
import { silent } from "../../../../pkg/log/log.ts"
import { ServiceAccountTokens } from "./service-account-token.ts"

const HOUR_MS = 3600_000

function setUp() {
  const clock = new VirtualClock(Date.parse("2026-01-01T00:00:00Z"))
  const state = { asked: [] as ApiCall[], failure: undefined as ApiError | undefined }
  const client = newClient({
    async call(call) {
      state.asked.push(call)
      await Promise.resolve()
      if (state.failure !== undefined) throw state.failure
      const { expirationSeconds } = (call.object as { spec: { expirationSeconds: number } }).spec
      return {
        status: {
          token: `token ${state.asked.length}`,
          expirationTimestamp: formatTime(clock.now() + expirationSeconds * 1000),
        },
      }
    },
    watch: () => ({ close: () => undefined }),
  })
  const random = { next: () => 0, bytes: (count: number) => new Uint8Array(count) }
  const tokens = new ServiceAccountTokens({ client, clock, random, log: silent })
  return { clock, state, tokens }
}
const pod = (uid: string) =>
  decodeObject(Pod, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "ns", uid },
    spec: { serviceAccountName: "clerk", containers: [{ name: "c", image: "x" }] },
  }).object
const query = (more: object = {}) => ({ pod: pod("u-1"), audience: "", expirationSeconds: 3600, ...more })

describe("tokens of service accounts", () => {
  test("are bound to the pod", async () => {
    const { state, tokens } = setUp()
    expect((await tokens.get(query({ audience: "vault" }))).status.token).toBe("token 1")
    expect(state.asked[0]).toMatchObject({
      verb: "create",
      subresource: "token",
      namespace: "ns",
      name: "clerk",
      object: {
        spec: {
          audiences: ["vault"],
          expirationSeconds: 3600,
          boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "p", uid: "u-1" },
        },
      },
    })
  })

  test("are requested once for each pod, audience and lifetime, even when calls are concurrent", async () => {
    const { state, tokens } = setUp()
    await Promise.all([tokens.get(query()), tokens.get(query())])
    await tokens.get(query())
    expect(state.asked).toHaveLength(1)
    await tokens.get(query({ audience: "vault" }))
    await tokens.get(query({ expirationSeconds: 600 }))
    await tokens.get(query({ pod: pod("u-2") }))
    expect(state.asked).toHaveLength(4)
    // when the pod is forgotten, its token is too
    tokens.forget("u-2")
    await tokens.get(query({ pod: pod("u-2") }))
    expect(state.asked).toHaveLength(5)
  })

  test("are renewed when a fifth of their life is left, or after a day", async () => {
    const { clock, tokens } = setUp()
    const start = clock.monotonic()
    expect((await tokens.get(query())).renewAt - start).toBe(0.8 * HOUR_MS)
    expect((await tokens.get(query({ expirationSeconds: 7 * 24 * 3600 }))).renewAt - start).toBe(24 * HOUR_MS)
    await clock.advance(0.8 * HOUR_MS - 1)
    expect((await tokens.get(query())).status.token).toBe("token 1")
    await clock.advance(1)
    expect((await tokens.get(query())).status.token).toBe("token 3")
  })

  test("are used until they expire when they cannot be renewed; then calls fail", async () => {
    const { clock, state, tokens } = setUp()
    await tokens.get(query())
    state.failure = new ApiError("ServiceUnavailable", "no server")
    // when it is to be renewed
    await clock.advance(0.8 * HOUR_MS)
    const kept = await tokens.get(query())
    expect([kept.status.token, kept.renewAt - clock.monotonic()]).toEqual(["token 1", 10_000])
    // when it has ended
    await clock.advance(0.2 * HOUR_MS)
    await expect(tokens.get(query())).rejects.toThrow("failed to fetch token: no server")
    // when the server is back
    state.failure = undefined
    expect((await tokens.get(query())).status.token).toStartWith("token")
  })

  test("are requested again after 10 seconds although the wall clock was set back", async () => {
    const { clock, state, tokens } = setUp()
    await tokens.get(query())
    state.failure = new ApiError("ServiceUnavailable", "no server")
    await clock.advance(0.8 * HOUR_MS)
    await tokens.get(query())
    // when
    state.failure = undefined
    clock.jump(-HOUR_MS)
    await clock.advance(10_000)
    // then
    expect((await tokens.get(query())).status.token).toBe("token 3")
  })
})
