import { expect, test } from "bun:test"
import { nextLookMs } from "./next-look.ts"
import { DEFAULT_HARD } from "../model/thresholds.ts"

/** The disk of 1000 bytes, whose threshold is 50. */
const disk = (at: number, available: number) => ({
  at,
  observations: { "nodefs.available": { available, capacity: 1000 } },
})
const USUAL = 10_000

test.each([
  { title: "as usual at the first time", before: undefined, now: disk(0, 900), ms: USUAL },
  { title: "as usual while nothing changes", before: disk(0, 900), now: disk(10_000, 900), ms: USUAL },
  { title: "as usual while there is more than before", before: disk(0, 100), now: disk(10_000, 900), ms: USUAL },
  { title: "as usual while it lasts for long", before: disk(0, 1000), now: disk(10_000, 990), ms: USUAL },
  {
    title: "after half of the time until the threshold is reached",
    before: disk(0, 410),
    now: disk(10_000, 250),
    ms: 6250,
  },
  { title: "after a second when it is reached at once", before: disk(0, 900), now: disk(10_000, 60), ms: 1000 },
  { title: "after a second while it is below the threshold", before: disk(0, 40), now: disk(10_000, 45), ms: 1000 },
  { title: "as usual where nothing is known", before: undefined, now: { at: 0, observations: {} }, ms: USUAL },
])("a resource is measured again $title", ({ before, now, ms }) => {
  expect(nextLookMs(before, now, DEFAULT_HARD, USUAL)).toBe(ms)
})

test("a resource without a threshold is measured as usual", () => {
  expect(nextLookMs(disk(0, 900), disk(10_000, 0), {}, USUAL)).toBe(USUAL)
})
