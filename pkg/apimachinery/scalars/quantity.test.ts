import { describe, expect, test } from "bun:test"
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  fromMilli,
  fromUnits,
  milliOf,
  parseQuantity,
  quantity,
  subtractQuantities,
  unitsOf,
} from "./quantity.ts"

describe("quantity", () => {
  test.each([
    ["0", "0"],
    ["0m", "0"],
    ["0.0Gi", "0"],
    ["100m", "100m"],
    ["1000m", "1"],
    ["1500m", "1500m"],
    ["0.5", "500m"],
    [".5", "500m"],
    ["5.", "5"],
    ["1.5", "1500m"],
    ["+2", "2"],
    ["-0.5", "-500m"],
    ["1Ki", "1Ki"],
    ["1024Ki", "1Mi"],
    ["0.5Gi", "512Mi"],
    ["1.5Gi", "1536Mi"],
    ["1000Ki", "1000Ki"],
    ["0.1Ki", "102400m"],
    ["1025Mi", "1025Mi"],
    ["1024", "1024"],
    ["1000k", "1M"],
    ["1000000", "1M"],
    ["123456", "123456"],
    ["1e3", "1e3"],
    ["1E3", "1e3"],
    ["1e2", "100"],
    ["12e6", "12e6"],
    ["1.2e3", "1200"],
    ["5E", "5E"],
    ["1Ei", "1Ei"],
    ["1n", "1n"],
    ["0.1n", "1n"],
    ["1500u", "1500u"],
    ["100E", "9223372036854775807"],
  ])("%s has the canonical form %s", (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical)
    expect(canonicalQuantity(canonical)).toBe(canonical)
  })

  test.each(["", "m", "1x", "1 Gi", "1KI", "1ki", "--1", "1.2.3", "e3", "1e", "0x1", "１", "1mm"])(
    "%p is refused as a quantity",
    (text) => {
      expect(parseQuantity(text)).toBeUndefined()
      expect(() => quantity(text)).toThrow("quantities must match the regular expression")
    },
  )

  test("quantities with different suffixes are compared by value", () => {
    expect(compareQuantities(quantity("1000m"), quantity("1"))).toBe(0)
    expect(compareQuantities(quantity("1Ki"), quantity("1k"))).toBe(1)
    expect(compareQuantities(quantity("-1"), quantity("0"))).toBe(-1)
  })

  test("sums and differences are exact and have the first operand's suffix", () => {
    expect(formatQuantity(addQuantities(quantity("100m"), quantity("0.2")))).toBe("300m")
    expect(formatQuantity(addQuantities(quantity("1Gi"), quantity("1024")))).toBe("1048577Ki")
    expect(formatQuantity(addQuantities(quantity("0"), quantity("1Gi")))).toBe("1Gi")
    expect(formatQuantity(subtractQuantities(quantity("1"), quantity("1100m")))).toBe("-100m")
  })

  test("fractions of a count are rounded up", () => {
    expect([unitsOf("1500m"), milliOf("0.1"), milliOf("1u"), unitsOf("2Ki")]).toEqual([2, 100, 1, 2048])
    expect([formatQuantity(fromUnits(2048, "BinarySI")), formatQuantity(fromMilli(250))]).toEqual(["2Ki", "250m"])
  })

  test("an enormous exponent is limited, in constant time", () => {
    expect(canonicalQuantity("1e999999999")).toBe("9223372036854775807")
    expect(canonicalQuantity("1e-999999999")).toBe("1e-9")
  })
})
