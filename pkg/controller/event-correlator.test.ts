import { expect, test } from "bun:test"
import { EventCorrelator } from "./event-correlator.ts"

const PULLED = { type: "Normal", reason: "Pulled", fieldPath: undefined, message: "Pulled image" }
const written = (sequence: number) => ({ time: 1_780_000_000_000, sequence, count: 1 })

test("the events of an object are remembered while thousands of other objects get events", () => {
  // given an event about an object, for which an Event was written
  const events = new EventCorrelator()
  const correlate = (uid: string, message = PULLED.message, now = 0) =>
    events.correlate({ ...PULLED, uid, message }, now)
  const one = correlate("one")!
  events.note(one.key, written(7))
  // when there are events about many others in between
  for (let i = 0; i < 3000; i++) events.note(correlate(`other-${i}`)!.key, written(i))
  // then the same event about it is the one that was written, and another is another
  expect(correlate("one")).toEqual(one)
  expect(events.written(one.key)).toEqual(written(7))
  expect(events.written(correlate("one", "Created container")!.key)).toBeUndefined()
  // and floods are cut off across that
  for (let i = 0; i < 22; i++) correlate("one", `m${i}`)
  for (let i = 0; i < 200; i++) correlate(`more-${i}`)
  expect(correlate("one")).toBeUndefined()
  expect(correlate("one", "later", 300_000)).toBeDefined()
  // and when there are more than are remembered, the oldest are forgotten
  for (let i = 0; i < 5000; i++) events.note(correlate(`last-${i}`)!.key, written(i))
  expect(events.written(one.key)).toBeUndefined()
})

test("an event that comes again and again is remembered, however early it came first", () => {
  const events = new EventCorrelator()
  const record = (uid: string, sequence: number) => {
    const { key } = events.correlate({ ...PULLED, uid }, 0)!
    const known = events.written(key)
    if (known === undefined) events.note(key, written(sequence))
    return known
  }
  for (const uid of ["cron", "job"]) record(uid, 1)
  for (let i = 0; i < 4000; i++) record(`other-${i}`, i)
  // when one of the first comes again
  record("cron", 2)
  for (let i = 0; i < 1000; i++) record(`more-${i}`, i)
  // then
  expect([record("cron", 3), record("job", 3)]).toEqual([written(1), undefined])
})

test("events that differ only in their message are combined from the tenth on, until none comes for ten minutes", () => {
  // given an event, and many of another sort about the same object
  const events = new EventCorrelator()
  const correlate = (message: string, now: number, reason = "Unhealthy", fieldPath?: string) =>
    events.correlate({ uid: "pod", type: "Warning", reason, fieldPath, message }, now)!
  const pulled = correlate("pulled", 0, "Pulled", "spec.containers{web}")
  const probes = Array.from({ length: 12 }, (_, i) => correlate(`probe ${i}`, 0))
  // then the first have an Event each, and the others share one that tells the latest of them
  expect(new Set(probes.slice(0, 9).map(({ key }) => key)).size).toBe(9)
  expect(new Set(probes.slice(9).map(({ key }) => key)).size).toBe(1)
  expect([probes[8]!.message, probes[11]!.message]).toEqual(["probe 8", "(combined from similar events): probe 11"])
  expect(correlate("probe 3", 300_000)).toEqual(probes[3]!)
  // and events of another sort, or about another part, are not counted among them
  expect(correlate("pulled", 0, "Pulled", "spec.containers{web}")).toEqual(pulled)
  expect(correlate("pulled", 0, "Pulled").key).not.toBe(pulled.key)
  // and they are combined as long as they follow each other
  expect(correlate("probe 20", 900_000).message).toBe("(combined from similar events): probe 20")
  expect(correlate("probe 21", 1_500_001).message).toBe("probe 21")
})
