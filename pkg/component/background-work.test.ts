import { expect, test } from "bun:test"
import { VirtualClock } from "../clock/virtual.ts"
import { backgroundWork } from "./background-work.ts"

function stage(mayRepeat = true) {
  const clock = new VirtualClock(0)
  const failures: string[] = []
  const failed = (name: string, err: unknown): boolean => {
    failures.push(`${name}: ${(err as Error).message}`)
    return mayRepeat
  }
  return { clock, failures, spawn: backgroundWork({ clock, failed }) }
}

test("work that must go on begins again after 1 s, 2 s, 4 s … up to a minute, until it succeeds", async () => {
  // given work that fails ten times
  const { clock, failures, spawn } = stage()
  const began: number[] = []
  const run = async () => {
    began.push(clock.now() / 1000)
    if (began.length <= 10) throw new Error("no")
  }
  // when
  spawn("loop", run, new AbortController().signal)
  await clock.advance(3_600_000)
  // then
  expect(began).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303])
  expect(failures).toHaveLength(10)
})

test("work that ran for a minute before it failed begins again after a second", async () => {
  const { clock, spawn } = stage()
  const began: number[] = []
  const run = async () => {
    began.push(clock.now() / 1000)
    await new Promise<void>((resolve) => clock.setTimeout(resolve, 60_000))
    throw new Error("no")
  }
  const ending = new AbortController()
  spawn("loop", run, ending.signal)
  await clock.advance(200_000)
  expect(began).toEqual([0, 61, 122, 183])
  // and never again once its owner has stopped
  ending.abort()
  await clock.advance(200_000)
  expect(began).toEqual([0, 61, 122, 183])
  expect(clock.pending).toBe(0)
})

test("work that waits to begin again never does once its owner has stopped", async () => {
  // given
  const { clock, failures, spawn } = stage()
  const ending = new AbortController()
  spawn("loop", () => Promise.reject(new Error("no")), ending.signal)
  await clock.advance(2500)
  expect([failures.length, clock.pending]).toEqual([2, 1])
  // when
  ending.abort()
  // then
  expect(clock.pending).toBe(0)
  await clock.advance(60_000)
  expect(failures).toHaveLength(2)
})

test("the failure of one piece of work is told once, and neither repeats nor hinders other work", async () => {
  const { clock, failures, spawn } = stage()
  let others = 0
  spawn("one", () => Promise.reject(new Error("first")))
  spawn("two", () => {
    throw new Error("at once")
  })
  spawn("three", async () => void others++)
  await clock.advance(3_600_000)
  expect(failures).toEqual(["two: at once", "one: first"].toSorted().toReversed())
  expect(others).toBe(1)
})

test("work does not begin again after an error that ends the process", async () => {
  const { clock, failures, spawn } = stage(false)
  spawn("loop", () => Promise.reject(new Error("damage")), new AbortController().signal)
  await clock.advance(3_600_000)
  expect(failures).toEqual(["loop: damage"])
})
