import { expect, test } from "bun:test"
import type { CronJob } from "../../../pkg/api/batch/v1/cronjob.ts"
import { parseZonedCron } from "../../../pkg/cron/schedule.ts"
import { dueOf } from "./due.ts"

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
  ["0 0 31 2 *", "2026-01-01T00:00:00Z", undefined, "2026-01-02T00:00:00Z", undefined, undefined, false],
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
    expect([iso(due.at), iso(due.next), due.tooManyMissed]).toEqual([at, next, tooManyMissed])
  },
)

test("the next run is the same for every time within an interval, and is worked out again beyond it", () => {
  const parsed = parseZonedCron("0 * * * *")
  if (typeof parsed === "string") throw new Error(parsed)
  const nextAt = (now: string, zone = "UTC") =>
    iso(
      dueOf(
        { metadata: { creationTimestamp: now }, spec: {}, status: {} } as unknown as CronJob,
        { schedule: parsed.schedule, zone },
        Date.parse(now),
      ).next,
    )
  expect(nextAt("2026-01-01T00:10:00Z")).toBe("2026-01-01T01:00")
  expect(nextAt("2026-01-01T00:50:00Z")).toBe("2026-01-01T01:00")
  expect(nextAt("2026-01-01T01:00:00Z")).toBe("2026-01-01T02:00")
  expect(nextAt("2026-01-01T00:30:00Z")).toBe("2026-01-01T01:00")
  expect(nextAt("2026-01-01T00:10:00Z", "Asia/Kolkata")).toBe("2026-01-01T00:30")
})
