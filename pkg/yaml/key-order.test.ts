import { expect, test } from "bun:test"
import { byNaturalOrder } from "./key-order.ts"

test.each([
  { first: "a2", second: "a10" },
  { first: "a9223372036854775807", second: "a10000000000000000000", says: "numbers beyond 64 bits wrap around" },
  { first: "a18446744073709551617", second: "a2", says: "2 ** 64 + 1 counts as 1" },
  { first: "a340282366920938463463374607431768211457", second: "a2", says: "2 ** 128 + 1 counts as 1" },
])("keys with numbers have Go's order: $first comes before $second", ({ first, second, says }) => {
  const isReversed = says === "numbers beyond 64 bits wrap around"
  expect(Math.sign(byNaturalOrder(first, second))).toBe(isReversed ? 1 : -1)
})
