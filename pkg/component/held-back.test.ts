import { expect, test } from "bun:test"
import { VirtualClock } from "../clock/virtual.ts"
import { backgroundWork } from "./background-work.ts"
import type { Component } from "./component.ts"
import { heldBack } from "./held-back.ts"

/** A component that is held back for a minute, and what happened to it. Its start ends as `starting` says. */
function example(starting: () => Promise<void> = async () => undefined) {
  const clock = new VirtualClock(0)
  const happened: string[] = []
  const inner: Component = {
    name: "inner",
    async start() {
      await starting()
      happened.push("started")
    },
    stop: async () => void happened.push("stopped"),
    problem: () => "it is not well",
  }
  const held = heldBack(inner, 60_000, { clock, spawn: backgroundWork({ clock, failed: () => true }) })
  return { clock, happened, held }
}

test("a component that is held back starts after its time, and is healthy until then", async () => {
  // given
  const { clock, happened, held } = example()
  await held.start(new AbortController().signal)
  expect(held.problem?.()).toBeUndefined()
  await clock.advance(59_999)
  expect(happened).toEqual([])
  // when
  await clock.advance(1)
  // then
  expect(happened).toEqual(["started"])
  expect(held.problem?.()).toBe("it is not well")
  await held.stop()
  expect(happened).toEqual(["started", "stopped"])
})

test("a component that is stopped before its time never starts", async () => {
  // given
  const { clock, happened, held } = example()
  await held.start(new AbortController().signal)
  // when
  await held.stop()
  await clock.advance(60_000)
  // then
  expect(happened).toEqual([])
})

test("a late start that fails is undone, and tried again", async () => {
  // given
  let attempts = 0
  const { clock, happened, held } = example(() =>
    ++attempts === 1 ? Promise.reject(new Error("no")) : Promise.resolve(),
  )
  await held.start(new AbortController().signal)
  // when
  await clock.advance(60_000)
  expect(happened).toEqual(["stopped"])
  await clock.advance(1000)
  // then
  expect(happened).toEqual(["stopped", "started"])
})

test("a component that is stopped in the middle of its late start is stopped again after it", async () => {
  // given
  const { promise, resolve } = Promise.withResolvers<void>()
  const { clock, happened, held } = example(() => promise)
  const ending = new AbortController()
  await held.start(ending.signal)
  await clock.advance(60_000)
  // when
  ending.abort()
  await held.stop()
  resolve()
  await clock.advance(0)
  // then
  expect(happened).toEqual(["stopped", "started", "stopped"])
})
