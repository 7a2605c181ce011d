import { expect, test } from "bun:test"
import { Deadlines } from "./deadlines.ts"
import { VirtualClock } from "./virtual.ts"

test("each entry that is not removed before its deadline is reported once, at its deadline", async () => {
  // given
  const clock = new VirtualClock(0)
  const told: string[] = []
  const deadlines = new Deadlines<string>(clock, (thing) => told.push(`${thing} at ${clock.monotonic()}`))
  deadlines.add("usual", 60_000)
  const over = deadlines.add("over in time", 60_000)
  deadlines.add("short", 1000)
  await clock.advance(500)
  deadlines.add("later", 60_500)
  deadlines.delete(over)
  // when
  await clock.advance(120_000)
  // then
  expect(told).toEqual(["short at 1000", "usual at 60000", "later at 60500"])
})

test("no timer is set when no entry is left", async () => {
  const clock = new VirtualClock(0)
  const deadlines = new Deadlines<string>(clock, () => undefined)
  for (const place of [deadlines.add("a", 1000), deadlines.add("b", 2000)]) deadlines.delete(place)
  expect(clock.nextDue).toBeUndefined()
  // and what is added then has its time
  deadlines.add("c", 3000)
  expect(clock.nextDue).toBe(3000)
})
