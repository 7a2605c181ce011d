import { describe, expect, test } from "bun:test"
import { encode, type Answer, type Packet } from "dns-packet"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { CACHE_DEFAULTS } from "../config/read-zone.ts"
import { FLAG, RCODE } from "../wire/query.ts"
import { AnswerCache } from "./answer-cache.ts"

const address = (ttl: number): Answer => ({ name: "a.example", type: "A", ttl, class: "IN", data: "10.0.0.1" })
const soa = (ttl: number, minimum: number): Answer => ({
  name: "example",
  type: "SOA",
  ttl,
  class: "IN",
  data: { mname: "ns.example", rname: "root.example", serial: 1, refresh: 1, retry: 1, expire: 1, minimum },
})
const message = (parts: Packet): Buffer =>
  encode({ type: "response", id: 1, questions: [{ name: "a.example", type: "A" }], ...parts })

const OPTIONS = {
  success: { ...CACHE_DEFAULTS.success, capacity: 3, ttl: 30 },
  denial: { ...CACHE_DEFAULTS.denial, ttl: 30 },
}

interface Case {
  readonly title: string
  readonly given: Packet
  /** Seconds for which the answer is cached. */
  readonly wants: number
}

describe("an answer", () => {
  const cases: readonly Case[] = [
    {
      title: "with records is cached for its smallest TTL",
      given: { answers: [address(20), address(10)] },
      wants: 10,
    },
    { title: "is cached no longer than the configured TTL", given: { answers: [address(86_400)] }, wants: 30 },
    { title: "is cached for at least 5 seconds", given: { answers: [address(0)] }, wants: 5 },
    {
      title: "NXDOMAIN is cached for the TTL of its SOA record",
      given: { flags: RCODE.nameError, authorities: [soa(25, 12)] },
      wants: 12,
    },
    {
      title: "without records is cached for the TTL of its SOA record",
      given: { authorities: [soa(7, 3600)] },
      wants: 7,
    },
    { title: "NXDOMAIN without an SOA record is not cached", given: { flags: RCODE.nameError }, wants: 0 },
    {
      title: "SERVFAIL is not cached",
      given: { flags: RCODE.serverFailure, answers: [address(20)] },
      wants: 0,
    },
    { title: "that is truncated is not cached", given: { flags: FLAG.truncated, answers: [address(20)] }, wants: 0 },
  ]
  test.each(cases)("$title", async ({ given, wants }) => {
    const clock = new VirtualClock(0)
    const cache = new AnswerCache(clock, OPTIONS)
    cache.keep("a", message(given))
    let seconds = 0
    while (cache.find("a")?.isFresh === true) {
      await clock.advance(1000)
      seconds++
    }
    expect(seconds).toBe(wants)
  })

  test("that has expired is served for an hour with a TTL of 30 seconds", async () => {
    const clock = new VirtualClock(0)
    const cache = new AnswerCache(clock, OPTIONS)
    cache.keep("a", message({ answers: [address(300)] }))
    await clock.advance(60_000)
    expect(cache.find("a")).toMatchObject({ isFresh: false, age: 270 })
    await clock.advance(3_600_000)
    expect(cache.find("a")).toBeUndefined()
    expect(cache.count("success")).toBe(0)
  })

  test("is dropped when the cache is full, the oldest first", () => {
    const cache = new AnswerCache(new VirtualClock(0), OPTIONS)
    for (const key of ["a", "b", "a", "c", "d"]) cache.keep(key, message({ answers: [address(20)] }))
    expect(["a", "b", "c", "d"].map((key) => cache.find(key) !== undefined)).toEqual([true, false, true, true])
  })

  test("is dropped when the cache exceeds its size in bytes, however few answers it has", () => {
    const cache = new AnswerCache(new VirtualClock(0), CACHE_DEFAULTS)
    const large = message({ answers: Array.from({ length: 2000 }, () => address(20)) })
    for (let i = 0; i < 1000; i++) cache.keep(`${i}`, large)
    expect(cache.count("success")).toBe(Math.floor((8 << 20) / large.length))
  })
})
