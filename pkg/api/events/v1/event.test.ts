import { expect, test } from "bun:test"
import { decodeObject } from "../../../apimachinery/decoding/decode.ts"
import { Event as CoreEvent } from "../../core/v1/event/event.ts"
import { Event } from "./event.ts"

test("a core event with an empty series can be read and written as an event of events.k8s.io", () => {
  // given
  const { object: core } = decodeObject(CoreEvent, {
    metadata: { name: "a", namespace: "default" },
    involvedObject: { namespace: "default" },
    series: {},
  })
  // when
  const shown = Event.storedAs!.fromStored(core)
  // then
  expect(shown).toMatchObject({ series: { count: 0, lastObservedTime: null } })
  expect(decodeObject(Event, JSON.parse(JSON.stringify(shown)) as object).object).toMatchObject({
    series: { count: 0, lastObservedTime: null },
  })
})

test("a core event without a reporter shows none in events.k8s.io", () => {
  // given
  const { object: core } = decodeObject(CoreEvent, {
    metadata: { name: "a", namespace: "default" },
    involvedObject: { namespace: "default" },
  })
  expect(core).toMatchObject({ reportingComponent: "", reportingInstance: "" })
  // when
  const shown = Event.storedAs!.fromStored(core)
  // then
  expect([Object.hasOwn(shown, "reportingController"), Object.hasOwn(shown, "reportingInstance")]).toEqual([
    false,
    false,
  ])
  expect(Event.storedAs!.toStored(shown)).toMatchObject({ reportingComponent: "", reportingInstance: "" })
})

test.each([
  ["of 1024 bytes is taken", "é".repeat(512), []],
  ["of 512 characters in more bytes is refused", `${"é".repeat(512)}a`, ["message"]],
])("a note %s", (_title, note, fields) => {
  // when
  const event = {
    metadata: { name: "a", namespace: "default" },
    eventTime: "2026-01-01T00:00:00.000000Z",
    reportingController: "example.com/operator",
    reportingInstance: "operator-1",
    action: "Reconcile",
    reason: "Failed",
    type: "Warning",
    regarding: {},
    note,
  }
  const faults = Event.validate!(decodeObject(Event, event).object)
  // then
  expect(faults.map(({ field }) => field)).toEqual(fields)
})
