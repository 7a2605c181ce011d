import { expect, test } from "bun:test"
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

test("the object that was reported last is forgotten last, however early it was reported first", () => {
  const events = new EventCorrelator()
  const correlate = (uid: string) => events.correlate(uid, "Normal", "Pulled", undefined, "Pulled image", 0)!.correlated
  for (const uid of ["cron", "job"]) correlate(uid).suffix = uid
  for (let i = 0; i < 4000; i++) correlate(`other-${i}`)
  // when one of the first is reported again
  correlate("cron")
  for (let i = 0; i < 1000; i++) correlate(`more-${i}`)
  // then
  expect([correlate("cron").suffix, correlate("job").suffix]).toEqual(["cron", undefined])
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

test("events that differ only in their message are combined from the tenth on, for as long as they follow each other", () => {
  // given an object with an event that was written, and more of another sort than are written each for itself
  const events = new EventCorrelator()
  const correlate = (message: string, now = 0, reason = "Unhealthy", path?: string) =>
    events.correlate("pod", "Normal", reason, path, message, now)!
  correlate("pulled", 0, "Pulled", "spec.containers{web}").correlated.suffix = "1"
  const probes = Array.from({ length: 12 }, (_, i) => correlate(`probe ${i}`))
  // then the first have an Event each, and the others share one that tells the latest of them
  expect(new Set(probes.slice(0, 9).map(({ correlated }) => correlated)).size).toBe(9)
  expect(new Set(probes.slice(9).map(({ correlated }) => correlated)).size).toBe(1)
  expect([probes[8]!.message, probes[11]!.message]).toEqual(["probe 8", "(combined from similar events): probe 11"])
  // and events of another sort, or about another part, are not counted among them
  expect(correlate("pulled", 0, "Pulled", "spec.containers{web}").correlated.suffix).toBe("1")
  expect(correlate("pulled", 0, "Pulled").correlated.suffix).toBeUndefined()
  // and after ten minutes each is written for itself again, with the Event that it had
  const later = correlate("probe 7", 600_000)
  expect(later).toEqual({ correlated: probes[7]!.correlated, message: "probe 7" })
  expect(correlate("probe 20", 600_000).message).toBe("probe 20")
})
