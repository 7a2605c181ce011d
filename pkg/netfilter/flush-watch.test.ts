import { expect, test } from "bun:test"
import { VirtualClock } from "../clock/virtual.ts"
import { FlushWatch } from "./flush-watch.ts"

/** A watch that finds the rules in these states at its checks, and a record of its reports. */
function watching(...states: readonly (boolean | Error)[]) {
  const told: string[] = []
  const clock = new VirtualClock(0)
  let looks = 0
  const watch = new FlushWatch({
    clock,
    async isIntact() {
      const state = states[looks++]!
      if (state instanceof Error) throw state
      return state
    },
    flushed: () => void told.push("flushed"),
    failed: (err) => void told.push((err as Error).message),
  })
  return { watch, told, advance: (ms: number) => clock.advance(ms), looks: () => looks }
}

test("rules that another program has flushed are noticed within 30 seconds, and checked again later", async () => {
  const { watch, told, advance, looks } = watching(true, false, new Error("nft is busy"), false)
  watch.start()
  await advance(29_999)
  expect(looks()).toBe(0)
  await advance(30_001)
  expect(told).toEqual(["flushed"])
  await advance(60_000)
  expect(told).toEqual(["flushed", "nft is busy", "flushed"])
  watch.stop()
})

test("a watch that is stopped during a check reports nothing and ends", async () => {
  const clock = new VirtualClock(0)
  const told: string[] = []
  const watch: FlushWatch = new FlushWatch({
    clock,
    async isIntact() {
      told.push("looked")
      watch.stop()
      return false
    },
    flushed: () => void told.push("flushed"),
    failed: (err) => void told.push((err as Error).message),
  })
  watch.start()
  await clock.advance(90_000)
  expect(told).toEqual(["looked"])
})
