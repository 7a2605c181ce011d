import { expect, test } from "bun:test"
import { parseCron } from "./schedule.ts"

test("fields take lists, ranges, steps and names", () => {
  const schedule = parseCron("*/20 5/8 1,15 jan-mar MON-FRI")
  if (typeof schedule === "string" || "every" in schedule) throw new Error("not a schedule")
  expect([
    [...schedule.minutes],
    [...schedule.hours],
    [...schedule.daysOfMonth],
    [...schedule.months],
    [...schedule.daysOfWeek],
  ]).toEqual([
    [0, 20, 40],
    [5, 13, 21],
    [1, 15],
    [1, 2, 3],
    [1, 2, 3, 4, 5],
  ])
  expect([schedule.anyDayOfMonth, schedule.anyDayOfWeek]).toEqual([false, false])
})

test("shorthands are schedules, and @every is an interval", () => {
  expect(parseCron("@hourly")).toEqual(parseCron("0 * * * *"))
  expect(parseCron("@every 1h30m")).toEqual({ every: 5_400_000 })
})

test.each([
  ["", "empty spec string"],
  ["* * *", "expected exactly 5 fields, found 3: [* * *]"],
  ["a * * * *", "failed to parse int from a"],
  ["5-1 * * * *", "beginning of range (5) beyond end of range (1)"],
  ["*/0 * * * *", "step of range should be a positive number"],
  ["1/2/3 * * * *", "too many slashes"],
  ["@often", "unrecognized descriptor: @often"],
])("%p is refused", (text, message) => {
  expect(parseCron(text)).toContain(message)
})

test("the same part, written a hundred thousand times, is read once", () => {
  const many = (part: string): string => Array<string>(100_000).fill(part).join(",")
  expect(parseCron(`${many("*/2")} ${many("1-3")} * * *`)).toEqual(parseCron("*/2 1-3 * * *"))
  expect(parseCron(`* * ${many("*")} * 5`)).toEqual(parseCron("* * * * 5"))
  expect(parseCron(`* * ${many("1")},32 * *`)).toContain("end of range (32) above maximum (31): 32")
})
