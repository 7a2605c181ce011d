import { expect, test } from "bun:test"
import { DroppedRequests } from "./dropped-requests.ts"

/** Rejects `count` requests within one second, and returns the Retry-After of the last one. */
function dropIn(dropped: DroppedRequests, second: number, count: number): number {
  let told = 0
  for (let i = 0; i < count; i++) told = dropped.dropped(second * 1000 + i)
  return told
}

test("Retry-After rises while many requests are rejected, and falls again", () => {
  const dropped = new DroppedRequests()
  // when few are turned away, then each may come again after a second
  expect(dropIn(dropped, 1000, 2)).toBe(1)
  expect(dropIn(dropped, 1001, 2)).toBe(1)
  // when many are, then the time doubles, and no faster than it passes
  expect(dropIn(dropped, 1002, 100)).toBe(1)
  expect(dropIn(dropped, 1003, 100)).toBe(2)
  expect(dropIn(dropped, 1004, 100)).toBe(2)
  expect(dropIn(dropped, 1005, 100)).toBe(4)
  // when hardly any are any more, then it goes down by one
  expect(dropIn(dropped, 1020, 1)).toBe(3)
  expect(dropIn(dropped, 1040, 1)).toBe(2)
})

test("Retry-After is never more than 32 seconds", () => {
  const dropped = new DroppedRequests()
  let told = 0
  for (let second = 1000; second < 1200; second++) told = dropIn(dropped, second, 200)
  expect(told).toBe(32)
})
