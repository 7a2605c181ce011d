import { expect, test } from "bun:test"
import { fullGC, heapStats } from "bun:jsc"
import { VirtualClock } from "../clock/virtual.ts"
import { giveMemoryBackWhenIdle, ownMemory } from "./idle-memory.ts"

const MB = 2 ** 20

/** A process that has just started, whose use of processor and memory the test sets. */
function started() {
  const clock = new VirtualClock(0)
  clock.exact = true
  const is = { cpuMicros: 0, ownMb: 100, givenBack: 0, unmapped: 0 }
  const stop = giveMemoryBackWhenIdle(clock, {
    cpuMicros: () => is.cpuMicros,
    ownBytes: () => is.ownMb * MB,
    giveBack: () => void is.givenBack++,
    unmapProgram: () => void is.unmapped++,
  })
  return { clock, is, stop }
}

/** A process whose start is long over. It is measured every 30 seconds. */
async function watched() {
  const { clock, is, stop } = started()
  await clock.advance(30_000 * 5)
  is.givenBack = 0
  return { clock, is, stop }
}

test("memory is released seconds after the start, once more half a minute later, and not again", async () => {
  const { clock, is, stop } = started()
  await clock.advance(3000)
  expect(is.givenBack).toBe(1)
  await clock.advance(30_000)
  expect(is.givenBack).toBe(2)
  await clock.advance(30_000 * 10)
  expect(is.givenBack).toBe(2)
  stop()
})

test("the program's file is unmapped every half minute, except while the process works", async () => {
  // given a process that is idle
  const { clock, is, stop } = started()
  await clock.advance(3000 + 30_000 * 9)
  expect(is.unmapped).toBe(10)
  // when it works for a minute
  for (let i = 0; i < 2; i++) {
    is.cpuMicros += 10_000_000
    await clock.advance(30_000)
  }
  expect(is.unmapped).toBe(10)
  // then it goes on after that
  await clock.advance(30_000)
  expect(is.unmapped).toBe(11)
  stop()
})

test("memory is not released after the start while the process works", async () => {
  const { clock, is, stop } = started()
  for (let i = 0; i < 3; i++) {
    is.cpuMicros += 10_000_000
    await clock.advance(i === 0 ? 3000 : 30_000)
  }
  expect(is.givenBack).toBe(0)
  stop()
})

test("memory is released five times after a time of load, and not again", async () => {
  // given a process that has grown under load
  const { clock, is, stop } = await watched()
  is.ownMb = 200
  is.cpuMicros += 20_000_000
  await clock.advance(30_000)
  expect(is.givenBack).toBe(0)
  // when it is idle
  await clock.advance(30_000 * 10)
  // then
  expect(is.givenBack).toBe(5)
  stop()
  expect(clock.pending).toBe(0)
})

test("memory is released again after a light load, however little the process has grown", async () => {
  // given a process under a load so light that it counts as idle, whose memory was given back meanwhile
  const { clock, is, stop } = await watched()
  is.ownMb = 200
  for (let i = 0; i < 10; i++) {
    is.cpuMicros += 0.06 * 30_000_000
    await clock.advance(30_000)
  }
  expect(is.givenBack).toBe(5)
  // when the load ends
  await clock.advance(30_000 * 10)
  // then
  expect(is.givenBack).toBe(10)
  stop()
})

test("memory is not released for a process that has not grown, or that is busy", async () => {
  const { clock, is, stop } = await watched()
  // given no growth worth the time
  is.ownMb = 105
  await clock.advance(30_000 * 5)
  expect(is.givenBack).toBe(0)
  // when it grows and stays busy
  is.ownMb = 300
  for (let i = 0; i < 5; i++) {
    is.cpuMicros += 10_000_000
    await clock.advance(30_000)
  }
  // then
  expect(is.givenBack).toBe(0)
  stop()
})

test("unreachable objects are removed from the heap when memory is released", () => {
  // given much that is held, and then is not any more
  let held: unknown[] = Array.from({ length: 400_000 }, (_, i) => ({ name: `object ${i}`, labels: { app: `a${i}` } }))
  expect(held).toHaveLength(400_000)
  fullGC()
  const before = heapStats().heapSize
  held = []
  // when
  ownMemory()!.giveBack()
  // then
  expect(before - heapStats().heapSize).toBeGreaterThan(20 * MB)
})
