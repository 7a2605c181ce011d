import { expect, test } from "bun:test"
import { VirtualClock } from "../clock/virtual.ts"
import type { Component } from "./component.ts"
import { heldBack } from "./held-back.ts"

/** A component that is held back for a minute, and what happened to it. */
function example() {
  const clock = new VirtualClock(0)
  const happened: string[] = []
  const inner: Component = {
    name: "inner",
    start: async () => void happened.push("started"),
    stop: async () => void happened.push("stopped"),
    problem: () => "it is not well",
  }
  const held = heldBack(inner, 60_000, { clock, spawn: (_, run) => void run() })
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
