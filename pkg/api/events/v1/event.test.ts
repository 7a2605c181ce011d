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
