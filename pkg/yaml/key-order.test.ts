import { expect, test } from "bun:test"
import { byNaturalOrder } from "./key-order.ts"

test.each([
  { first: "a2", second: "a10" },
  // 10 ** 19 is below zero in 64 bits
  { first: "a10000000000000000000", second: "a9223372036854775807" },
  // 2 ** 64 + 1 and 2 ** 128 + 1 count as 1
  { first: "a18446744073709551617", second: "a2" },
  { first: "a340282366920938463463374607431768211457", second: "a2" },
])("keys with numbers have Go's order, in which they wrap around: $first, $second", ({ first, second }) => {
  expect(byNaturalOrder(first, second)).toBeLessThan(0)
  expect(byNaturalOrder(second, first)).toBeGreaterThan(0)
})
