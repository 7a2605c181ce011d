import { describe, expect, test } from "bun:test"
import type { Client } from "../../../../pkg/client/client.ts"
import { VirtualClock } from "../../../../pkg/clock/virtual.ts"
import { kubeletAuthenticator } from "./authentication.ts"
import { kubeletAuthorizer, rightsFor } from "./authorization.ts"
import { ExpiringCache } from "./expiring-cache.ts"

test.each([
  { method: "GET", path: "/metrics", wants: "get metrics" },
  { method: "GET", path: "/metrics/cadvisor", wants: "get metrics" },
  { method: "HEAD", path: "/metrics", wants: " metrics" },
  { method: "POST", path: "/stats/summary", wants: "create stats" },
  { method: "GET", path: "/logs/pods/", wants: "get log" },
  { method: "GET", path: "/pods", wants: "get pods or get proxy" },
  { method: "GET", path: "/runningpods/", wants: "get pods or get proxy" },
  { method: "GET", path: "/healthz/ping", wants: "get healthz or get proxy" },
  { method: "GET", path: "/configz", wants: "get configz or get proxy" },
  { method: "GET", path: "/flagz", wants: "get configz" },
  { method: "GET", path: "/statusz", wants: "get statusz" },
  { method: "POST", path: "/checkpoint/a/b/c", wants: "create checkpoint" },
  { method: "GET", path: "/podsy", wants: "get proxy" },
  { method: "GET", path: "/metrics%2fcadvisor", wants: "get proxy" },
  { method: "GET", path: "/", wants: "get proxy" },
  { method: "PUT", path: "/debug/flags/v", wants: "update proxy" },
  { method: "GET", path: "/containerLogs/a/b/c", wants: "get proxy" },
  { method: "POST", path: "/run/a/b/c", wants: "create proxy" },
  { method: "POST", path: "/exec/a/b/c", wants: "create proxy" },
  { method: "GET", path: "/exec/a/b/c", wants: "get proxy and create proxy" },
  { method: "GET", path: "/attach/a/b/uid/c/", wants: "get proxy and create proxy" },
  { method: "GET", path: "/portForward/a/b", wants: "get proxy and create proxy" },
])("$method $path needs $wants", ({ method, path, wants }) => {
  const text = rightsFor(method, path)
    .map((rights) => rights.map(({ verb, subresource }) => `${verb} ${subresource}`).join(" or "))
    .join(" and ")
  expect(text).toBe(wants)
})

/** A client whose reviews are answered by `status`, and counted. */
function reviewing(status: (spec: unknown) => object) {
  const asked: unknown[] = []
  const client = {
    create: async (_kind: unknown, { spec }: { spec: unknown }) => {
      asked.push(spec)
      return { status: status(spec) }
    },
  } as unknown as Client
  return { asked, client }
}
const clockOf = () => new VirtualClock(Date.parse("2026-01-01T00:00:00Z"))

describe("the API server's answer", () => {
  test("about a token is cached for two minutes, whether it is valid or not", async () => {
    // given
    const clock = clockOf()
    const { client, asked } = reviewing((spec) =>
      (spec as { token: string }).token === "good"
        ? { authenticated: true, user: { username: "jo", groups: ["a"] } }
        : { authenticated: false },
    )
    const authenticate = kubeletAuthenticator({ client, clock, clientCa: () => "" })
    const by = (token: string) =>
      authenticate({ certificate: undefined, authorization: `Bearer ${token}`, protocols: [] })
    // when
    const users = [await by("good"), await by("good"), await by("bad"), await by("bad")]
    // then
    const jo = { name: "jo", uid: "", groups: ["a", "system:authenticated"], extra: {} }
    expect(users).toEqual([jo, jo, undefined, undefined])
    expect(asked).toEqual([{ token: "good" }, { token: "bad" }])
    // when
    await clock.advance(119_000)
    await by("good")
    expect(asked).toHaveLength(2)
    await clock.advance(1000)
    await by("good")
    await by("bad")
    // then
    expect(asked).toHaveLength(4)
  })

  test("about a right is cached for five minutes when it is granted, and for half a minute when not", async () => {
    // given
    const clock = clockOf()
    const { client, asked } = reviewing((spec) => ({
      allowed: (spec as { resourceAttributes: { subresource: string } }).resourceAttributes.subresource === "stats",
    }))
    const isAllowed = kubeletAuthorizer({ client, clock, nodeName: "n" })
    const user = { name: "jo", uid: "", groups: [], extra: {} }
    const ask = async () => [
      await isAllowed(user, { verb: "get", subresource: "stats" }),
      await isAllowed(user, { verb: "get", subresource: "proxy" }),
    ]
    // when
    expect(await ask()).toEqual([true, false])
    expect(await ask()).toEqual([true, false])
    // then
    expect(asked).toMatchObject([
      { user: "jo", resourceAttributes: { resource: "nodes", subresource: "stats", verb: "get", name: "n" } },
      { resourceAttributes: { subresource: "proxy" } },
    ])
    await clock.advance(30_000)
    await ask()
    expect(asked).toHaveLength(3)
    await clock.advance(270_000)
    await ask()
    expect(asked).toHaveLength(5)
  })

  test("is requested again for another user, group or extra", async () => {
    const { client, asked } = reviewing(() => ({ allowed: true }))
    const isAllowed = kubeletAuthorizer({ client, clock: clockOf(), nodeName: "n" })
    const right = { verb: "get", subresource: "stats" }
    const jo = { name: "jo", uid: "", groups: [], extra: {} }
    for (const user of [jo, { ...jo, groups: ["a"] }, { ...jo, extra: { a: ["b"] } }, { ...jo, uid: "1" }, jo])
      await isAllowed(user, right)
    expect(asked).toHaveLength(4)
  })

  test("is not requested without a user", async () => {
    const { client, asked } = reviewing(() => ({ authenticated: true, user: { username: "jo" } }))
    const authenticate = kubeletAuthenticator({ client, clock: clockOf(), clientCa: () => "" })
    for (const authorization of [undefined, "", "Basic am86cHc=", "Bearer", "Bearer  "])
      expect(await authenticate({ certificate: undefined, authorization, protocols: [] })).toBeUndefined()
    expect(asked).toEqual([])
  })
})

test("the cache keeps the most recently used entries, up to its limit", () => {
  const cache = new ExpiringCache<number>(clockOf(), 2)
  cache.set("a", 1, 1000)
  cache.set("b", 2, 1000)
  cache.get("a")
  cache.set("c", 3, 1000)
  expect(["a", "b", "c"].map((key) => cache.get(key))).toEqual([1, undefined, 3])
})
