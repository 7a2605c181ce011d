import { expect, test } from "bun:test"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../pkg/apimachinery/decoding/decode.ts"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { SchedulingQueue } from "./queue.ts"

const PODS = 2000
const pod = (uid: string): Pod => decodeObject(Pod, { metadata: { name: uid, uid } }).object

test("thousands of unschedulable pods are retried within a few turns of the event loop at one instant", async () => {
  // given a clock that fails when one instant has more than a thousand turns, and pods that were refused
  const clock = new VirtualClock(0, { mostTurns: () => 1000 })
  const queue = new SchedulingQueue(
    clock,
    () => [],
    () => {},
  )
  for (let i = 0; i < PODS; i++) queue.add(pod(`pod-${i}`))
  for (let i = 0; i < PODS; i++) queue.failed(queue.pop()!, new Set(["NodeResourcesFit"]))
  expect(queue.sizes).toEqual({ active: 0, backoff: 0, unschedulable: PODS, gated: 0 })
  // when the longest time without an event has passed
  await clock.advance(300_000)
  // then all wait for the end of their backoff, and are tried in the order in which they came
  expect(queue.sizes).toEqual({ active: 0, backoff: PODS, unschedulable: 0, gated: 0 })
  await clock.advance(1000)
  expect(queue.sizes.active).toBe(PODS)
  expect(queue.pop()?.pod.metadata.name).toBe("pod-0")
  queue.stop()
  expect(clock.pending).toBe(0)
})
