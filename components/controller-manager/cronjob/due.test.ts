import { expect, test } from "bun:test"
import type { CronJob } from "../../../pkg/api/batch/v1/cronjob.ts"
import { parseZonedCron } from "../../../pkg/cron/schedule.ts"
import { dueOf, type Due } from "./due.ts"

const iso = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString().slice(0, 16)

test.each([
  // schedule, last run, deadline, now → due, next, too many missed
  ["0 * * * *", "2026-01-01T00:00:00Z", undefined, "2026-01-01T00:59:59Z", undefined, "2026-01-01T01:00", false],
  [
    "0 * * * *",
    "2026-01-01T00:00:00Z",
    undefined,
    "2026-01-01T01:00:00Z",
    "2026-01-01T01:00",
    "2026-01-01T02:00",
    false,
  ],
  [
    "0 * * * *",
    "2026-01-01T00:00:00Z",
    undefined,
    "2026-01-01T05:30:00Z",
    "2026-01-01T05:00",
    "2026-01-01T06:00",
    false,
  ],
  ["0 * * * *", "2026-01-01T00:00:00Z", 600, "2026-01-01T05:30:00Z", undefined, "2026-01-01T06:00", false],
  [
    "0 * * * *",
    "2025-01-01T00:00:00Z",
    undefined,
    "2026-01-01T05:30:00Z",
    "2026-01-01T05:00",
    "2026-01-01T06:00",
    true,
  ],
  ["0 * * * *", "2025-01-01T00:00:00Z", 7200, "2026-01-01T05:30:00Z", "2026-01-01T05:00", "2026-01-01T06:00", false],
  // unequal intervals: weekdays only, looked at on a Sunday
  [
    "30 6-16/4 * * 1-5",
    "2026-01-02T06:30:00Z",
    undefined,
    "2026-01-04T12:00:00Z",
    "2026-01-02T14:30",
    "2026-01-05T06:30",
    false,
  ],
  [
    "@every 90m",
    "2026-01-01T00:00:10Z",
    undefined,
    "2026-01-01T05:30:00Z",
    "2026-01-01T04:30",
    "2026-01-01T06:00",
    false,
  ],
  ["@every 90m", "2026-01-01T00:00:10Z", 6000, "2026-01-01T05:30:00Z", "2026-01-01T04:30", "2026-01-01T06:00", false],
  // a month of minutes, a year ago, after a shorter one
  [
    "* * * 1 *",
    "2024-12-31T00:00:00Z",
    undefined,
    "2026-01-20T12:00:30Z",
    "2026-01-20T12:00",
    "2026-01-20T12:01",
    true,
  ],
  [
    "* * * 1 *",
    "2024-01-31T23:58:00Z",
    undefined,
    "2025-12-01T00:00:00Z",
    "2025-01-31T23:59",
    "2026-01-01T00:00",
    false,
  ],
])(
  "with the schedule %p, last run at %s and deadline %p, at %s the due run is %p and the next one %p",
  (text, last, startingDeadlineSeconds, now, at, next, tooManyMissed) => {
    const parsed = parseZonedCron(text)
    if (typeof parsed === "string") throw new Error(parsed)
    const cron = {
      metadata: { creationTimestamp: "2020-01-01T00:00:00Z" },
      spec: { startingDeadlineSeconds },
      status: { lastScheduleTime: last },
    } as unknown as CronJob
    const due = dueOf(cron, { schedule: parsed.schedule, zone: "UTC" }, Date.parse(now))
    if (typeof due === "string") throw new Error(due)
    expect([iso(due.at), iso(due.next), due.tooManyMissed]).toEqual([at, next, tooManyMissed])
  },
)

test.each([
  ["0 0 31 2 *", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"],
  ["0 0 30 2 *", "2026-01-01T00:00:00Z", "2050-01-02T00:00:00Z"],
  // 2100 has no 29th of February, so the next one is further away than upstream looks
  ["0 0 29 2 *", "2095-01-01T00:00:00Z", "2096-02-29T00:00:00Z"],
])("the schedule %p, last run at %s, is invalid at %s", (text, last, now) => {
  const parsed = parseZonedCron(text)
  if (typeof parsed === "string") throw new Error(parsed)
  const cron = { metadata: {}, spec: {}, status: { lastScheduleTime: last } } as unknown as CronJob
  expect(dueOf(cron, { schedule: parsed.schedule, zone: "UTC" }, Date.parse(now))).toBe(
    "time difference between two schedules is less than 1 second",
  )
})

test("the next run is the same for every time within an interval, and is worked out again beyond it", () => {
  const parsed = parseZonedCron("0 * * * *")
  if (typeof parsed === "string") throw new Error(parsed)
  const nextAt = (now: string, zone = "UTC") =>
    iso(
      (
        dueOf(
          { metadata: { creationTimestamp: now }, spec: {}, status: {} } as unknown as CronJob,
          { schedule: parsed.schedule, zone },
          Date.parse(now),
        ) as Due
      ).next,
    )
  expect(nextAt("2026-01-01T00:10:00Z")).toBe("2026-01-01T01:00")
  expect(nextAt("2026-01-01T00:50:00Z")).toBe("2026-01-01T01:00")
  expect(nextAt("2026-01-01T01:00:00Z")).toBe("2026-01-01T02:00")
  expect(nextAt("2026-01-01T00:30:00Z")).toBe("2026-01-01T01:00")
  expect(nextAt("2026-01-01T00:10:00Z", "Asia/Kolkata")).toBe("2026-01-01T00:30")
})
