import { expect, test } from "bun:test"
import { parsePoint } from "./point.ts"

test.each([
  ["42", { revision: 42 }],
  ["2026-01-31T12:00:00Z", { time: Date.parse("2026-01-31T12:00:00Z") }],
  ["90s", { ago: 90_000 }],
  ["2h30m", { ago: 9_000_000 }],
  ["1.5d", { ago: 129_600_000 }],
  ["now", { ago: 0 }],
  ["", undefined],
  ["-5", undefined],
  ["5 minutes", undefined],
  ["1h".repeat(6), undefined],
])("%p is the point in time %p", (text, wanted) => {
  expect(parsePoint(text)).toEqual(wanted)
})
