import { fullGC, heapStats } from "bun:jsc"
import { expect, test } from "bun:test"
import { saveMemoryAtRest } from "../cache/at-rest.ts"
import { ToldEvents } from "./told-events.ts"

test("the events of an object are remembered while thousands of other objects get events", () => {
  // given an event about an object, which got a name when it was written
  const events = new ToldEvents()
  const tell = (uid: string, message = "Pulled image", now = 0) =>
    events.tell(uid, "Normal", "Pulled", undefined, message, now)
  tell("one")!.told.suffix = "17a0"
  // when many others are told of in between
  for (let i = 0; i < 3000; i++) tell(`other-${i}`)
  // then the same event about it is the one that was written, and another is another
  expect(tell("one")?.told.suffix).toBe("17a0")
  expect(tell("one", "Created container")?.told.suffix).toBeUndefined()
  // and floods are cut off across that
  for (let i = 0; i < 22; i++) tell("one", `m${i}`)
  for (let i = 0; i < 200; i++) tell(`more-${i}`)
  expect(tell("one")).toBeUndefined()
  expect(tell("one", "later", 300_000)).toBeDefined()
  // and when there are more than are remembered, the oldest are forgotten
  for (let i = 0; i < 5000; i++) tell(`last-${i}`)
  expect(tell("one")?.told.suffix).toBeUndefined()
})

test("the name of an Event that is written late is remembered, although many others are recorded meanwhile", () => {
  // given events about many objects, none of which is written yet
  const events = new ToldEvents()
  const tell = (uid: string) => events.tell(uid, "Normal", "Pulled", undefined, "Pulled image", 0)!.told
  const all = Array.from({ length: 150 }, (_, i) => tell(`pod-${i}`))
  // when they are written, and others are told of and written
  all.forEach((told, i) => (told.suffix = `${i}`))
  for (let i = 0; i < 500; i++) tell(`other-${i}`).suffix = `${i}`
  // then each is known
  expect(all.map((_, i) => tell(`pod-${i}`).suffix)).toEqual(all.map((_, i) => `${i}`))
})

test("what was told is the same after a rest in which nothing was written", () => {
  // given an object with an event that was written, one that was not, and more than are written each for itself
  const events = new ToldEvents()
  const tell = (message: string, reason = "Pulled", path?: string) =>
    events.tell("pod", "Normal", reason, path, message, 0)!.told
  tell("pulled", "Pulled", "spec.containers{web}").suffix = "1"
  for (let i = 0; i < 12; i++) tell(`probe ${i}`, "Unhealthy").suffix = `${i}`
  for (const later of ["one", "two"]) events.tell(later, "Normal", "Pulled", undefined, "pulled", 0)
  // when
  events.rest()
  // then
  expect(tell("pulled", "Pulled", "spec.containers{web}").suffix).toBe("1")
  expect(tell("pulled", "Pulled").suffix).toBeUndefined()
  expect(tell("probe 20", "Unhealthy")).toMatchObject({
    message: "(combined from similar events): probe 9",
    suffix: "11",
  })
})

test("what was told of objects that recur is known after many rests, and the oldest of others are forgotten", () => {
  // given objects of which each was told of again after a rest
  const events = new ToldEvents()
  const tell = (uid: string) => events.tell(uid, "Normal", "SuccessfulCreate", undefined, "Created job", 0)!.told
  const recurring = Array.from({ length: 40 }, (_, i) => `cron-${i}`)
  for (const uid of recurring) tell(uid).suffix = uid
  events.rest()
  for (const uid of recurring) tell(uid)
  // when there are more rests, between which many others are told of
  for (let i = 0; i < 5000; i++) {
    tell(`job-${i}`).suffix = `${i}`
    if (i % 10 === 0) events.rest()
  }
  // then those that were told of last are known
  expect(tell("job-4000").suffix).toBe("4000")
  expect(tell("job-1").suffix).toBeUndefined()
})

test("what was told of thousands of objects is a few hundred pieces of memory", () => {
  // given
  const events = new ToldEvents()
  fullGC()
  const before = heapStats().objectCount
  // when
  for (let i = 0; i < 4000; i++) {
    for (const reason of ["Pulled", "Created", "Started"])
      events.tell(`uid-${i}`, "Normal", reason, undefined, `${reason} image`, i)!.told.suffix = `${i}`
    events.rest()
  }
  fullGC()
  // then
  expect(heapStats().objectCount - before).toBeLessThan(1000)
  expect(events.tell("uid-7", "Normal", "Created", undefined, "Created image", 5000)?.told).toMatchObject({
    suffix: "7",
  })
})

test("what was told of the latest objects is one piece of memory when the process comes to rest", () => {
  // given
  const events = new ToldEvents()
  const uids = Array.from({ length: 100 }, (_, i) => `uid-${i}`)
  for (const uid of uids) events.tell(uid, "Normal", "Pulled", undefined, "Pulled image", 0)!.told.suffix = uid
  events.rest()
  fullGC()
  const before = heapStats().objectTypeCounts["string"]!
  // when
  saveMemoryAtRest()
  fullGC()
  // then
  expect(before - heapStats().objectTypeCounts["string"]!).toBeGreaterThan(150)
  for (const uid of uids)
    expect(events.tell(uid, "Normal", "Pulled", undefined, "Pulled image", 1)?.told.suffix).toBe(uid)
})
