import { expect, test } from "bun:test"
import { VirtualClock } from "../clock/virtual.ts"
import { Upkeep } from "./upkeep.ts"

test("a repair follows every minute, also after one that failed, until it is stopped", async () => {
  // given
  const clock = new VirtualClock(0)
  const errors: unknown[] = []
  let mended = 0
  const upkeep = new Upkeep({
    clock,
    async mend() {
      mended++
      if (mended === 2) throw new Error("no route")
    },
    failed: (err) => void errors.push((err as Error).message),
  })
  upkeep.start()
  // when, then
  for (const wants of [1, 2, 3]) {
    await clock.advance(60_000)
    expect(mended).toBe(wants)
  }
  expect(errors).toEqual(["no route"])
  await upkeep.stop()
  await clock.advance(600_000)
  expect(mended).toBe(3)
})

test("a stop waits for the repair that is under way, and none follows", async () => {
  // given
  const clock = new VirtualClock(0)
  const { promise, resolve } = Promise.withResolvers<void>()
  const upkeep = new Upkeep({ clock, mend: () => promise, failed: () => undefined })
  upkeep.start()
  await clock.advance(60_000)
  // when
  let isStopped = false
  const stopping = upkeep.stop().then(() => (isStopped = true))
  await clock.advance(1000)
  expect(isStopped).toBe(false)
  resolve()
  await stopping
  // then
  expect(clock.pending).toBe(0)
})
