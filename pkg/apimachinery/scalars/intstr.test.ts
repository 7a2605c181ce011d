import { expect, test } from "bun:test"
import { percentOf, scaledValue } from "./intstr.ts"

test("percentages are rounded up or down, and numbers are kept", () => {
  expect([
    scaledValue("25%", 10, "up"),
    scaledValue("25%", 10, "down"),
    scaledValue(3, 10, "up"),
    scaledValue("100%", 7, "down"),
  ]).toEqual([3, 2, 3, 7])
})

test("a text that is no percentage is refused", () => {
  expect(percentOf("25")).toBeUndefined()
  expect(() => scaledValue("25", 10, "up")).toThrow("not a percentage")
})
