import { expect, test } from "bun:test"
import { VirtualClock } from "../clock/virtual.ts"
import { Heartbeat } from "./heartbeat.ts"

/** A heartbeat whose other side answers up to a time, in seconds. Returns when it was asked, and when it was lost. */
async function beats(seconds: number, { answersUntil = Infinity, readsFrom = 0 } = {}) {
  const clock = new VirtualClock(0)
  clock.exact = true
  const asked: number[] = []
  let lostAt: number | undefined
  const now = () => clock.now() / 1000
  const heartbeat = new Heartbeat({
    clock,
    ask() {
      asked.push(now())
      if (now() <= answersUntil) heartbeat.answered()
    },
    isReading: () => now() >= readsFrom,
    lost: () => void (lostAt = now()),
  })
  await clock.advance(seconds * 1000)
  heartbeat.stop()
  await clock.advance(100_000)
  return { asked, lostAt }
}

test("a side that answers is asked every five seconds, until the heartbeat stops", async () => {
  expect(await beats(21)).toEqual({ asked: [5, 10, 15, 20], lostAt: undefined })
})

test("a side that never answers is lost after 61 seconds", async () => {
  const { asked, lostAt } = await beats(120, { answersUntil: 0 })
  expect([asked.at(-1), lostAt]).toEqual([60, 61])
})

test("a side that stops to answer is lost 61 seconds after its last answer", async () => {
  expect((await beats(200, { answersUntil: 50 })).lostAt).toBe(111)
})

test("a side whose answers cannot be read is not lost meanwhile", async () => {
  expect((await beats(250, { answersUntil: 0, readsFrom: 151 })).lostAt).toBe(206)
})
