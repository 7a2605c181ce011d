import { expect, test } from "bun:test"
import { Pod } from "../api/core/v1/pod/pod.ts"
import type { ResourceQuota } from "../api/core/v1/resourcequota/resourcequota.ts"
import { EXTENDED_RESOURCE_CLAIM } from "../api/resource/v1/extended-resources.ts"
import { ResourceClaim } from "../api/resource/v1/resourceclaim.ts"
import type { KubeObject, Resource } from "../apimachinery/resource.ts"
import { formatQuantity } from "../apimachinery/scalars/quantity.ts"
import { seededRandom } from "../clock/random.ts"
import { firstClaims } from "./first-claims.ts"
import type { QuotaObjects } from "./quota-objects.ts"
import { QuotaTallies } from "./quota-tally.ts"

const PLACE = "/registry/core/pods/team/"
const quotaOf = (hard: Readonly<Record<string, string>>, scopes?: readonly string[]): ResourceQuota =>
  ({ metadata: { name: "q", namespace: "team" }, spec: { hard, scopes } }) as never

function given(objects: Partial<QuotaObjects> = {}) {
  const tallies = new QuotaTallies({
    now: () => 0,
    deviceClass: () => undefined,
    pod: () => undefined,
    firstClaimOf: () => undefined,
    ...objects,
  })
  let lists = 0
  const used = (quota: ResourceQuota, stored: readonly KubeObject[] = []) => {
    const usage = tallies.used(quota, Pod as Resource, PLACE, () => (lists++, stored))
    return Object.fromEntries(Object.entries(usage).map(([entry, amount]) => [entry, formatQuantity(amount)]))
  }
  return { tallies, used, lists: () => lists }
}

const podOf = (name: string, cpu: string, { phase = "Running", ...metadata }: Readonly<Record<string, unknown>> = {}) =>
  ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "team", ...metadata },
    spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }] },
    status: { phase, qosClass: "Burstable" },
  }) as never as KubeObject

test("the objects of a namespace are listed once, however many are created, changed and deleted", () => {
  // given
  const quota = quotaOf({ pods: "9", "requests.cpu": "9" })
  const { tallies, used, lists } = given()
  const [a, b] = [podOf("a", "1"), podOf("b", "500m")]
  expect(used(quota, [a, b])).toEqual({ pods: "2", "requests.cpu": "1500m" })
  // when
  const c = podOf("c", "2")
  tallies.change(PLACE, undefined, c)
  tallies.change(PLACE, b, podOf("b", "500m", { phase: "Succeeded" }))
  tallies.change(PLACE, a, undefined)
  tallies.change("/registry/core/pods/other/", undefined, podOf("d", "7"))
  // then
  expect(used(quota)).toEqual({ pods: "1", "requests.cpu": "2" })
  expect(lists()).toBe(1)
})

test("a pod that is being deleted counts until its grace period is over", () => {
  // given
  let now = Date.parse("2026-01-01T00:00:00Z")
  const quota = quotaOf({ pods: "9" })
  const { tallies, used } = given({ now: () => now })
  const before = podOf("a", "1")
  used(quota, [before])
  // when
  const ending = podOf("a", "1", { deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30 })
  tallies.change(PLACE, before, ending)
  // then
  expect(used(quota)).toEqual({ pods: "1" })
  now += 61_000
  expect(used(quota)["pods"] ?? "0").toBe("0")
  // and when it is gone and another one comes by its name
  tallies.change(PLACE, ending, undefined)
  tallies.change(PLACE, undefined, before)
  expect(used(quota)).toEqual({ pods: "1" })
})

test("a quota whose spec was changed is counted anew, and one whose status was changed is not", () => {
  // given
  const { used, lists } = given()
  const quota = quotaOf({ pods: "9" })
  const stored = [podOf("a", "1")]
  used(quota, stored)
  // when
  used({ ...quota, status: { used: { pods: "1" } } } as never, stored)
  used(structuredClone(quota), stored)
  // then
  expect(lists()).toBe(1)
  expect(used(quotaOf({ "requests.cpu": "9" }), stored)).toEqual({ "requests.cpu": "1" })
  expect(used(quotaOf({ pods: "9" }, ["BestEffort"]), stored)).toEqual({})
  expect(lists()).toBe(3)
})

test("a quota that was deleted is forgotten, and so is a place that is to be counted anew", () => {
  // given
  const { tallies, used, lists } = given()
  const quota = quotaOf({ pods: "9" })
  used(quota)
  // when
  tallies.forget({ name: "q", namespace: "another" })
  expect(tallies.follows(PLACE)).toBe(true)
  tallies.forget(quota.metadata)
  // then
  expect(tallies.follows(PLACE)).toBe(false)
  used(quota)
  tallies.countAnew("/registry/core/pods/")
  used(quota)
  expect(lists()).toBe(3)
})

test("a claim for devices counts as the class says now that it names", () => {
  // given
  const claim = {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name: "c", namespace: "team" },
    spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu", count: 2 } }] } },
  } as never as KubeObject
  const spec: { extendedResourceName?: string } = {}
  const { tallies } = given({ deviceClass: () => ({ spec }) as never })
  const quota = quotaOf({ "requests.example.com/gpu": "9" })
  const used = () => tallies.used(quota, ResourceClaim as Resource, "/claims/team/", () => [claim])
  expect(used()).toEqual({})
  // when
  spec.extendedResourceName = "example.com/gpu"
  // then
  expect(formatQuantity(used()["requests.example.com/gpu"]!)).toBe("2")
})

test("the first claim of a pod is found among those of the revision", () => {
  // given
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u", controller: true }
  const claimOf = (name: string) => ({
    metadata: { name, annotations: { [EXTENDED_RESOURCE_CLAIM]: "true" }, ownerReferences: [owner] },
  })
  let [revision, claims, lists] = [1, [claimOf("b")], 0]
  const firstOf = firstClaims({ revision: () => revision, list: () => (lists++, claims as never) })
  expect([firstOf("team", "u"), firstOf("team", "u"), lists]).toEqual(["b", "b", 1])
  // when
  claims = [claimOf("b"), claimOf("a")]
  revision++
  // then
  expect([firstOf("team", "u"), firstOf("team", "other"), lists]).toEqual(["a", undefined, 2])
})

test("names of resources that the quota does not limit are not kept", () => {
  const { used } = given()
  expect(used(quotaOf({ "count/configmaps": "1" }), [podOf("a", "1")])).toEqual({})
})

test("what was followed is always what a new count gives", () => {
  // given
  const quota = quotaOf({ pods: "9", "requests.cpu": "9", "count/pods": "9" }, ["NotBestEffort"])
  const { tallies, used } = given()
  const random = seededRandom(7)
  const below = (limit: number) => Math.floor(random.next() * limit)
  const stored = new Map<string, KubeObject>()
  used(quota)
  for (let step = 0; step < 500; step++) {
    // when
    const name = `p${below(12)}`
    const old = stored.get(name)
    const now =
      old !== undefined && below(3) === 0
        ? undefined
        : podOf(name, `${below(4000)}m`, {
            phase: below(4) === 0 ? "Failed" : "Running",
            ...(below(3) === 0 ? { deletionTimestamp: "1970-01-01T00:00:30Z", deletionGracePeriodSeconds: 30 } : {}),
          })
    if (now === undefined) stored.delete(name)
    else stored.set(name, now)
    tallies.change(PLACE, old, now)
    // then
    const followed = used(quota)
    const anew = given().used(quota, [...stored.values()])
    for (const entry of Object.keys(quota.spec.hard!)) expect(followed[entry] ?? "0").toBe(anew[entry] ?? "0")
  }
})

test("many objects are counted in steps, and changes that come between two steps are counted once", () => {
  // given a namespace of a thousand pods that is being counted
  const quota = quotaOf({ pods: "9000" })
  const { tallies, used, lists } = given()
  const pods = Array.from({ length: 1000 }, (_, i) => podOf(`p${i}`, "1"))
  const counting = tallies.counting(quota, Pod as Resource, PLACE, () => pods)
  let steps = 0
  while (counting.next().done !== true) {
    // when one pod is deleted that was counted, one that was not, and two are created
    if (++steps === 5) {
      tallies.change(PLACE, pods[0], undefined)
      tallies.change(PLACE, pods[999], undefined)
      tallies.change(PLACE, undefined, podOf("new-1", "1"))
      tallies.change(PLACE, undefined, podOf("new-2", "1"))
      tallies.change(PLACE, podOf("new-2", "1"), undefined)
    }
  }
  // then
  expect(steps).toBe(10)
  expect(used(quota)).toEqual({ pods: "999" })
  expect(lists()).toBe(0)
})

test("a count that failed begins anew", () => {
  // given
  let fails = true
  const quota = quotaOf({ pods: "9" })
  const { used } = given({
    now() {
      if (fails) throw new Error("no time")
      return 0
    },
  })
  const pods = [podOf("a", "1", { deletionTimestamp: "2026-01-01T00:00:30Z" })]
  expect(() => used(quota, pods)).toThrow("no time")
  // when
  fails = false
  // then
  expect(used(quota, pods)).toEqual({ pods: "1" })
})
