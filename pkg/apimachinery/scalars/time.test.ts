import { describe, expect, test } from "bun:test"
import {
  ageOf,
  canonicalMicroTime,
  canonicalTime,
  formatDuration,
  formatMicroTime,
  formatTime,
  humanDuration,
  durationProblem,
  parseDuration,
  parseTime,
} from "./time.ts"

const SECOND = 1000,
  MINUTE = 60 * SECOND,
  HOUR = 60 * MINUTE,
  DAY = 24 * HOUR

describe("time", () => {
  test.each([
    [-5 * SECOND, "<invalid>"],
    [-SECOND / 2, "0s"],
    [0, "0s"],
    [119 * SECOND, "119s"],
    [2 * MINUTE, "2m"],
    [2 * MINUTE + 5 * SECOND, "2m5s"],
    [10 * MINUTE, "10m"],
    [179 * MINUTE, "179m"],
    [3 * HOUR, "3h"],
    [7 * HOUR + MINUTE, "7h1m"],
    [8 * HOUR, "8h"],
    [47 * HOUR, "47h"],
    [2 * DAY, "2d"],
    [2 * DAY + HOUR, "2d1h"],
    [8 * DAY + HOUR, "8d"],
    [729 * DAY, "729d"],
    [730 * DAY, "2y"],
    [735 * DAY, "2y5d"],
    [365 * 8 * DAY, "8y"],
  ])("%p ms are printed as %s", (ms, text) => {
    expect(humanDuration(ms)).toBe(text)
  })

  test.each([
    ["1h15m30.5s", HOUR + 15 * MINUTE + 30.5 * SECOND],
    ["300ms", 300],
    ["-1.5h", -1.5 * HOUR],
    ["0", 0],
    ["1us", 0.001],
    ["1", undefined],
    ["", undefined],
    ["1d", undefined],
  ])("the duration %p", (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  test.each([
    ["10", 'missing unit in duration "10"'],
    ["1h1", 'missing unit in duration "1h1"'],
    ["1x", 'unknown unit "x" in duration "1x"'],
    ["1s2ms3d", 'unknown unit "d" in duration "1s2ms3d"'],
    ["abc", 'invalid duration "abc"'],
    ["", 'invalid duration ""'],
    ["-", 'invalid duration "-"'],
    [".s", 'invalid duration ".s"'],
    ["3000000h", 'invalid duration "3000000h"'],
    ["99999999999999999999x", 'invalid duration "99999999999999999999x"'],
    ['"\\é\n', String.raw`invalid duration "\"\\\xc3\xa9\x0a"`],
  ])("%p is no duration, with Go's message", (text, problem) => {
    expect(durationProblem(text)).toBe(`time: ${problem}`)
  })

  test("a valid duration is accepted", () => {
    expect(durationProblem("1h.5s")).toBeUndefined()
  })

  test.each([
    [0, "0s"],
    [300, "300ms"],
    [1500, "1.5s"],
    [HOUR, "1h0m0s"],
    [90 * SECOND, "1m30s"],
    [-1500, "-1.5s"],
    [0.001, "1µs"],
  ])("%p ms are formatted as %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })

  test.each([
    ["2026-01-02T03:04:05Z", true],
    ["2026-01-02T03:04:05.123456+01:00", true],
    ["2026-02-30T00:00:00Z", false],
    ["2024-02-29T00:00:00Z", true],
    ["2026-01-02", false],
    ["2026-01-02T24:00:00Z", false],
    ["now", false],
  ])("%p is a valid time: %p", (text, good) => {
    expect(parseTime(text) !== undefined).toBe(good)
  })

  test("times are formatted in UTC", () => {
    const ms = parseTime("2026-01-02T03:04:05.678+01:00")!
    expect([formatTime(ms), formatMicroTime(ms)]).toEqual(["2026-01-02T02:04:05Z", "2026-01-02T02:04:05.678000Z"])
    expect([ageOf("2026-01-02T02:04:05Z", ms + 5 * MINUTE), ageOf(undefined, ms)]).toEqual(["5m", "<unknown>"])
  })
})

test("stored times have the canonical form", () => {
  expect([
    canonicalTime("2026-01-02T03:04:05.9+01:00"),
    canonicalMicroTime("2026-01-02T03:04:05.123456789Z"),
    canonicalMicroTime("2026-01-02T03:04:05Z"),
    canonicalTime("x"),
  ]).toEqual(["2026-01-02T02:04:05Z", "2026-01-02T03:04:05.123456Z", "2026-01-02T03:04:05.000000Z", undefined])
})
