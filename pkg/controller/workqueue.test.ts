import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../clock/virtual.ts"
import { WorkQueue } from "./workqueue.ts"

describe("WorkQueue", () => {
  test("returns a key once, however often it was added", () => {
    const queue = new WorkQueue(new VirtualClock(0), () => {})
    // given
    queue.add("a")
    queue.add("b")
    queue.add("a")
    // then
    expect([queue.take(), queue.take(), queue.take()]).toEqual(["a", "b", undefined])
  })

  test.each([3_600_000, -3_600_000])(
    "the earlier of two delays is used, although the wall clock is set by %d ms",
    async (by) => {
      // given a key that comes in a minute, and a clock that is corrected
      const clock = new VirtualClock(0)
      const queue = new WorkQueue(clock, () => {})
      queue.addAfter("a", 60_000)
      clock.jump(by)
      // when it is to come in ten seconds, and then in two minutes
      queue.addAfter("a", 10_000)
      clock.jump(-2 * by)
      queue.addAfter("a", 120_000)
      await clock.advance(10_000)
      // then
      expect(queue.take()).toBe("a")
    },
  )

  test("holds a key that is added while it is being processed until that is done", () => {
    const queue = new WorkQueue(new VirtualClock(0), () => {})
    // given a key being worked on
    queue.add("a")
    queue.take()
    // when it is added again
    queue.add("a")
    // then it waits for done, and comes once more
    expect(queue.take()).toBeUndefined()
    queue.done("a")
    expect(queue.take()).toBe("a")
  })

  test("doubles the delay of a key that fails repeatedly, and starts over after forget", async () => {
    // given
    const clock = new VirtualClock(0)
    const readyAt: number[] = []
    const queue = new WorkQueue(clock, () => readyAt.push(clock.now()))
    const failOnce = async () => {
      queue.retry("a")
      await clock.advance(1000)
      queue.take()
      queue.done("a")
    }
    // when
    await failOnce()
    await failOnce()
    await failOnce()
    queue.forget("a")
    await failOnce()
    // then
    expect(readyAt).toEqual([5, 1010, 2020, 3005])
  })

  test("uses the earliest of several delays, and none if the key is added at once", async () => {
    // given
    const clock = new VirtualClock(0)
    let ready = 0
    const queue = new WorkQueue(clock, () => ready++)
    queue.addAfter("a", 100)
    queue.addAfter("a", 50)
    queue.addAfter("a", 70)
    // when
    await clock.advance(50)
    // then
    expect(queue.take()).toBe("a")
    queue.addAfter("b", 10)
    queue.add("b")
    expect(clock.pending).toBe(0)
    expect(ready).toBe(2)
  })

  test("measures how many keys were added and retried, and how long each waited", async () => {
    // given
    const clock = new VirtualClock(0)
    const told: (string | number)[] = []
    const queue = new WorkQueue(clock, () => {}, {
      added: () => told.push("added"),
      taken: (ms) => told.push(ms),
      retried: () => told.push("retried"),
    })
    // when a key is added twice, waits, and fails
    queue.add("a")
    queue.add("a")
    await clock.advance(30)
    queue.take()
    queue.retry("a")
    queue.done("a")
    await clock.advance(5)
    // then
    expect(told).toEqual(["added", 30, "retried", "added"])
  })

  test("drops everything when stopped", () => {
    const clock = new VirtualClock(0)
    const queue = new WorkQueue(clock, () => {})
    queue.addAfter("a", 10)
    queue.add("b")
    // when
    queue.stop()
    queue.add("c")
    // then
    expect([queue.take(), clock.pending]).toEqual([undefined, 0])
  })
})
