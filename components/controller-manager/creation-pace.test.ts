import { expect, test } from "bun:test"
import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { CreationPace } from "./creation-pace.ts"

const owner = (uid: string): KubeObject => ({ apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: uid, uid } })

test("three times the wanted pods plus fifty are created at once; the next ones after doubling delays", async () => {
  // given an owner of two pods that has made all that is free
  const clock = new VirtualClock(0)
  const pace = new CreationPace(clock)
  for (let i = 0; i < 56; i++) {
    expect(pace.wait(owner("a"), 2)).toBe(0)
    pace.made(owner("a"))
  }
  pace.made(owner("a"))
  // when it goes on as soon as it may
  const waits: number[] = []
  for (let i = 0; i < 16; i++) {
    waits.push(pace.wait(owner("a"), 2))
    await clock.advance(waits.at(-1)!)
    expect(pace.wait(owner("a"), 2)).toBe(0)
    pace.made(owner("a"))
  }
  // then it goes on ever more slowly, and another owner is not held up
  expect(waits.slice(0, 5)).toEqual([5, 10, 20, 40, 80])
  expect(waits.slice(-2)).toEqual([60_000, 60_000])
  expect(pace.wait(owner("b"), 2)).toBe(0)
})

test("an owner that wants millions is slowed down once it has five thousand pods that are not ready", async () => {
  const clock = new VirtualClock(0)
  const pace = new CreationPace(clock)
  // given
  for (let waiting = 0; waiting <= 5000; waiting += 500) {
    expect(pace.wait(owner("a"), 2_147_483_647, waiting)).toBe(0)
    pace.made(owner("a"), 500)
  }
  // when more of them wait
  const waits: number[] = []
  for (let i = 0; i < 12; i++) {
    waits.push(pace.wait(owner("a"), 2_147_483_647, 5500 + 500 * i))
    await clock.advance(waits.at(-1)!)
    pace.made(owner("a"), 500)
  }
  expect(waits.slice(0, 4)).toEqual([5, 10, 20, 40])
  // then it goes on at full speed when they have started
  expect(pace.wait(owner("a"), 2_147_483_647, 5000)).toBe(0)
})

test("a series ends when nothing was created for a while", async () => {
  // given
  const clock = new VirtualClock(0)
  const pace = new CreationPace(clock)
  pace.made(owner("a"), 1000)
  expect(pace.wait(owner("a"), 1)).toBe(5)
  // when
  await clock.advance(10_001)
  // then
  expect(pace.wait(owner("a"), 1)).toBe(0)
})

test("owners are forgotten after a while", async () => {
  // given a Job a minute, for a day
  const clock = new VirtualClock(0)
  const pace = new CreationPace(clock)
  // when
  for (let minute = 0; minute < 1440; minute++) {
    pace.made(owner(`job-${minute}`))
    await clock.advance(60_000)
  }
  // then
  expect(pace.size).toBeLessThan(5)
})
