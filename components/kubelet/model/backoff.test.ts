import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { Backoff } from "./backoff.ts"

describe("Backoff", () => {
  test("doubles from ten seconds to five minutes, and counts from the failure", async () => {
    // given failures, each followed by a try as soon as it is allowed
    const clock = new VirtualClock(0)
    const backoff = new Backoff(clock)
    const waits: number[] = []
    for (let i = 0; i < 8; i++) {
      const left = backoff.remaining("c", clock.now())
      waits.push(left / 1000)
      await clock.advance(left)
      backoff.next("c", clock.now() - left)
    }
    // then
    expect(waits).toEqual([0, 10, 20, 40, 80, 160, 300, 300])
  })

  test("waits no longer than its delay when the wall clock was set back by days", async () => {
    // given a failure at a time that the wall clock reaches in three days
    const clock = new VirtualClock(0)
    const backoff = new Backoff(clock)
    backoff.next("c", clock.now())
    const since = clock.now()
    clock.jump(-3 * 86_400_000)
    // when
    expect(backoff.remaining("c", since)).toBe(10_000)
    await clock.advance(4000)
    // then
    expect(backoff.remaining("c", since)).toBe(6000)
    await clock.advance(6000)
    expect(backoff.remaining("c", since)).toBe(0)
  })

  test("starts from the beginning when nothing failed for ten minutes", async () => {
    const clock = new VirtualClock(0)
    const backoff = new Backoff(clock)
    backoff.next("c", 0)
    backoff.next("c", 0)
    await clock.advance(600_001)
    expect(backoff.remaining("c", clock.now())).toBe(0)
    backoff.next("c", clock.now())
    expect(backoff.delay("c")).toBe(10_000)
  })

  test("removes the entries of a deleted pod", () => {
    const backoff = new Backoff({ now: () => 0, monotonic: () => 0 })
    backoff.next("u1_c", 0)
    backoff.next("u2_c", 0)
    backoff.forget("u1_")
    expect([backoff.delay("u1_c"), backoff.delay("u2_c")]).toEqual([0, 10_000])
  })
})
