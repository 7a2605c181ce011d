import { expect, test } from "bun:test"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { firstDifference } from "./difference.ts"
import { leavesOf } from "./leaves.ts"
import { Timeline } from "./timeline.ts"

const object = (spec: object): KubeObject =>
  ({ apiVersion: "example.com/v1", kind: "Widget", metadata: { namespace: "default", name: "w" }, spec }) as KubeObject

test("a difference is told in lines of its own, whatever signs users, fields and values of the recording have", () => {
  // given a recording with a write that the replay does not have
  const begin = object({})
  const runs = () => new Timeline((each) => leavesOf(each, (text) => text), 0, begin)
  const [recording, replay] = [runs(), runs()]
  const signs = "\n\r\x1b[2J\x7f\x9b\u2028"
  recording.add({
    time: 1000,
    revision: 7,
    user: `mallory${signs}`,
    isCompared: true,
    object: object({ [`key${signs}`]: `value${signs}` }),
  })
  // when
  const text = String(firstDifference([{ recording, replay }], { toleranceMs: 10, now: 60_000 }))
  // then no sign moves the cursor, or begins another line
  const lines = text.split("\n")
  expect(lines).toHaveLength(2)
  expect(lines[0]).toStartWith("1970-01-01T00:00:01.000000Z: in the recording (revision 7) mallory\\n\\r^[[2J")
  expect(lines[1]).toStartWith("  spec.key\\n\\r^[[2J")
  expect(text.replaceAll("\n", "")).not.toMatch(/[\0-\x1f\x7f-\x9f\u2028]/)
})
