import { fullGC, heapStats } from "bun:jsc"
import { expect, test } from "bun:test"
import { saveMemoryAtRest } from "../cache/at-rest.ts"
import { EventCorrelator } from "./event-correlator.ts"

test("the events of an object are remembered while thousands of other objects get events", () => {
  // given an event about an object, which got a name when it was written
  const events = new EventCorrelator()
  const correlate = (uid: string, message = "Pulled image", now = 0) =>
    events.correlate(uid, "Normal", "Pulled", undefined, message, now)
  correlate("one")!.correlated.suffix = "17a0"
  // when there are events about many others in between
  for (let i = 0; i < 3000; i++) correlate(`other-${i}`)
  // then the same event about it is the one that was written, and another is another
  expect(correlate("one")?.correlated.suffix).toBe("17a0")
  expect(correlate("one", "Created container")?.correlated.suffix).toBeUndefined()
  // and floods are cut off across that
  for (let i = 0; i < 22; i++) correlate("one", `m${i}`)
  for (let i = 0; i < 200; i++) correlate(`more-${i}`)
  expect(correlate("one")).toBeUndefined()
  expect(correlate("one", "later", 300_000)).toBeDefined()
  // and when there are more than are remembered, the oldest are forgotten
  for (let i = 0; i < 5000; i++) correlate(`last-${i}`)
  expect(correlate("one")?.correlated.suffix).toBeUndefined()
})

test("the name of an Event that is written late is remembered, although many others are recorded meanwhile", () => {
  // given events about many objects, none of which is written yet
  const events = new EventCorrelator()
  const correlate = (uid: string) => events.correlate(uid, "Normal", "Pulled", undefined, "Pulled image", 0)!.correlated
  const all = Array.from({ length: 150 }, (_, i) => correlate(`pod-${i}`))
  // when they are written, and those about others too
  all.forEach((correlated, i) => (correlated.suffix = `${i}`))
  for (let i = 0; i < 500; i++) correlate(`other-${i}`).suffix = `${i}`
  // then each is known
  expect(all.map((_, i) => correlate(`pod-${i}`).suffix)).toEqual(all.map((_, i) => `${i}`))
})

test("events are correlated in the same way after a rest in which nothing was written", () => {
  // given an object with an event that was written, one that was not, and more than are written each for itself
  const events = new EventCorrelator()
  const correlate = (message: string, reason = "Pulled", path?: string) =>
    events.correlate("pod", "Normal", reason, path, message, 0)!.correlated
  correlate("pulled", "Pulled", "spec.containers{web}").suffix = "1"
  for (let i = 0; i < 12; i++) correlate(`probe ${i}`, "Unhealthy").suffix = `${i}`
  for (const later of ["one", "two"]) events.correlate(later, "Normal", "Pulled", undefined, "pulled", 0)
  // when
  events.rest()
  // then
  expect(correlate("pulled", "Pulled", "spec.containers{web}").suffix).toBe("1")
  expect(correlate("pulled", "Pulled").suffix).toBeUndefined()
  expect(correlate("probe 20", "Unhealthy")).toMatchObject({
    message: "(combined from similar events): probe 9",
    suffix: "11",
  })
})

test("events about objects that recur are known after many rests, and the oldest of others are forgotten", () => {
  // given objects with events before and after a rest
  const events = new EventCorrelator()
  const correlate = (uid: string) =>
    events.correlate(uid, "Normal", "SuccessfulCreate", undefined, "Created job", 0)!.correlated
  const recurring = Array.from({ length: 40 }, (_, i) => `cron-${i}`)
  for (const uid of recurring) correlate(uid).suffix = uid
  events.rest()
  for (const uid of recurring) correlate(uid)
  // when there are more rests, between which there are events about many others
  for (let i = 0; i < 5000; i++) {
    correlate(`job-${i}`).suffix = `${i}`
    if (i % 10 === 0) events.rest()
  }
  // then those with the last events are known
  expect(correlate("job-4000").suffix).toBe("4000")
  expect(correlate("job-1").suffix).toBeUndefined()
})

test("the events about thousands of objects are a few hundred pieces of memory", () => {
  // given
  const events = new EventCorrelator()
  fullGC()
  const before = heapStats().objectCount
  // when
  for (let i = 0; i < 4000; i++) {
    for (const reason of ["Pulled", "Created", "Started"])
      events.correlate(`uid-${i}`, "Normal", reason, undefined, `${reason} image`, i)!.correlated.suffix = `${i}`
    events.rest()
  }
  fullGC()
  // then
  expect(heapStats().objectCount - before).toBeLessThan(1000)
  expect(events.correlate("uid-7", "Normal", "Created", undefined, "Created image", 5000)?.correlated).toMatchObject({
    suffix: "7",
  })
})

test("the events about the latest objects are one piece of memory when the process comes to rest", () => {
  // given
  const events = new EventCorrelator()
  const uids = Array.from({ length: 100 }, (_, i) => `uid-${i}`)
  for (const uid of uids)
    events.correlate(uid, "Normal", "Pulled", undefined, "Pulled image", 0)!.correlated.suffix = uid
  events.rest()
  fullGC()
  const before = heapStats().objectTypeCounts["string"]!
  // when
  saveMemoryAtRest()
  fullGC()
  // then
  expect(before - heapStats().objectTypeCounts["string"]!).toBeGreaterThan(150)
  for (const uid of uids)
    expect(events.correlate(uid, "Normal", "Pulled", undefined, "Pulled image", 1)?.correlated.suffix).toBe(uid)
})
