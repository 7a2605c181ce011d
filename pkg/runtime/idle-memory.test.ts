import { expect, test } from "bun:test"
import { heapStats } from "bun:jsc"
import { VirtualClock } from "../clock/virtual.ts"
import { giveMemoryBackWhenIdle } from "./idle-memory.ts"

test("gives back what a time of load has left, and then rests", async () => {
  // given a process that has held much more than before, and does not any more
  const clock = new VirtualClock(0)
  clock.exact = true
  const stop = giveMemoryBackWhenIdle(clock)
  let held: unknown[] = Array.from({ length: 400_000 }, (_, i) => ({ name: `object ${i}`, labels: { app: `a${i}` } }))
  expect(held).toHaveLength(400_000)
  held = []
  const before = heapStats().heapSize
  // when it has little to do
  await clock.advance(31_000)
  // then
  expect(before - heapStats().heapSize).toBeGreaterThan(20 * 2 ** 20)
  stop()
  expect(clock.pending).toBe(0)
})
