import { describe, expect, test } from "bun:test"
import { lastRun, nextRun } from "./next.ts"
import { parseZonedCron } from "./schedule.ts"
import { formatInZone } from "./zone.ts"

/** The first `count` runs after `after`, in the zone's own time. */
function runs(text: string, after: string, count: number, zone = "UTC"): readonly string[] {
  const parsed = parseZonedCron(text)
  if (typeof parsed === "string") throw new Error(parsed)
  const where = parsed.zone ?? zone
  const found: string[] = []
  for (let at: number | undefined = Date.parse(after); found.length < count; found.push(formatInZone(where, at))) {
    at = nextRun(parsed.schedule, at, where)
    if (at === undefined) return [...found, "never"]
  }
  return found
}

describe("the next run of a schedule", () => {
  test.each([
    ["*/15 * * * *", "2026-01-01T00:07:30Z", ["2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z"]],
    ["0 0 * * *", "2026-01-01T00:00:00Z", ["2026-01-02T00:00:00Z"]],
    ["30 6-16/4 * * 1-5", "2026-01-02T12:00:00Z", ["2026-01-02T14:30:00Z", "2026-01-05T06:30:00Z"]],
    ["0 0 29 2 *", "2026-01-01T00:00:00Z", ["2028-02-29T00:00:00Z"]],
    ["0 0 31 2 *", "2026-01-01T00:00:00Z", ["never"]],
    ["0 12 13 * FRI", "2026-01-01T00:00:00Z", ["2026-01-02T12:00:00Z", "2026-01-09T12:00:00Z", "2026-01-13T12:00:00Z"]],
    [
      "0 12 */2 * FRI",
      "2026-01-01T00:00:00Z",
      ["2026-01-01T12:00:00Z", "2026-01-02T12:00:00Z", "2026-01-03T12:00:00Z"],
    ],
    ["@yearly", "2026-06-01T00:00:00Z", ["2027-01-01T00:00:00Z"]],
    ["@weekly", "2026-01-01T00:00:00Z", ["2026-01-04T00:00:00Z"]],
    ["@every 90m", "2026-01-01T00:00:10.500Z", ["2026-01-01T01:30:10Z", "2026-01-01T03:00:10Z"]],
    ["59 23 31 12 *", "2026-12-31T23:59:00Z", ["2027-12-31T23:59:00Z"]],
  ])("%p after %p is computed", (text, after, expected) => {
    expect(runs(text, after, expected.length)).toEqual(expected)
  })

  test.each([
    // Clocks go forward from 02:00 to 03:00 on 29 March 2026, so that half past two is left out …
    ["30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", ["2026-03-28T02:30:00+01:00", "2026-03-30T02:30:00+02:00"]],
    ["0 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", ["2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"]],
    ["0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["2026-03-29T03:00:00+02:00"]],
    // … and back from 03:00 to 02:00 on 25 October, so that it comes twice.
    [
      "30 2 * * *",
      "Europe/Berlin",
      "2026-10-24T12:00:00Z",
      ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00"],
    ],
    [
      "0 * * * *",
      "Europe/Berlin",
      "2026-10-24T23:30:00Z",
      ["2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"],
    ],
    ["0 0 * * *", "America/New_York", "2026-01-01T00:00:00Z", ["2026-01-01T00:00:00-05:00"]],
    ["0 0 * * *", "Asia/Kolkata", "2026-01-01T00:00:00Z", ["2026-01-02T00:00:00+05:30"]],
    ["0 0 * * *", "Pacific/Kiritimati", "2026-01-01T09:00:00Z", ["2026-01-02T00:00:00+14:00"]],
    // Midnight itself is left out in Beirut on 29 March 2026 …
    ["0 0 * * *", "Asia/Beirut", "2026-03-27T23:00:00Z", ["2026-03-30T00:00:00+03:00"]],
    // … and in Havana the hour before one o'clock comes twice on 1 November.
    [
      "15 0 * * *",
      "America/Havana",
      "2026-10-31T12:00:00Z",
      ["2026-11-01T00:15:00-04:00", "2026-11-01T00:15:00-05:00"],
    ],
    // Lord Howe moves its clocks by half an hour.
    [
      "45 1 * * *",
      "Australia/Lord_Howe",
      "2026-04-03T12:00:00Z",
      ["2026-04-04T01:45:00+11:00", "2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30"],
    ],
  ])("%p in %s", (text, zone, after, expected) => {
    expect(runs(text, after, expected.length, zone)).toEqual(expected)
  })

  test("is in the time zone of the schedule's text", () => {
    expect(runs("CRON_TZ=Asia/Tokyo 0 6 * * *", "2026-01-01T00:00:00Z", 1)).toEqual(["2026-01-02T06:00:00+09:00"])
    expect(runs("TZ=Europe/Paris @daily", "2026-01-01T00:00:00Z", 1)).toEqual(["2026-01-02T00:00:00+01:00"])
    expect(parseZonedCron("CRON_TZ=Mars/Olympus 0 6 * * *")).toBe(
      "provided bad location Mars/Olympus: unknown time zone Mars/Olympus",
    )
  })
})

test.each([
  ["*/7 * * * *", "UTC", "2026-01-01T00:00:00Z", 500],
  ["30 2 * * *", "Europe/Berlin", "2026-10-20T00:00:00Z", 20],
  ["15,45 * * * *", "America/Havana", "2026-10-31T12:00:00Z", 60],
  ["0,30 0,23 * * *", "Asia/Beirut", "2026-03-25T00:00:00Z", 20],
  // clocks are set back at midnight, to 23:00
  ["0,30 0,23 * * *", "Asia/Beirut", "2026-10-23T00:00:00Z", 20],
  ["0 0 29 2 *", "UTC", "2023-01-01T00:00:00Z", 3],
  ["0 12 13 * FRI", "Pacific/Kiritimati", "2026-01-01T00:00:00Z", 20],
])("the last run of %p in %s is the one before the next one", (text, zone, after, count) => {
  const schedule = parseZonedCron(text)
  if (typeof schedule === "string" || "every" in schedule.schedule) throw new Error("not a schedule")
  let before = nextRun(schedule.schedule, Date.parse(after), zone)!
  for (let i = 0; i < count; i++) {
    const next = nextRun(schedule.schedule, before, zone)!
    for (const upTo of [before, (before + next) / 2, next - 1])
      expect(lastRun(schedule.schedule, Date.parse(after), upTo, zone)).toBe(before)
    before = next
  }
  expect(lastRun(schedule.schedule, before, before, zone)).toBeUndefined()
})
