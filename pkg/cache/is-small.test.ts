import { expect, test } from "bun:test"
import { isSmall } from "./is-small.ts"

test.each([
  [{ metadata: { name: "a", labels: { app: "web" } }, spec: { replicas: 1, list: [1, 2, null] } }, true],
  [{ data: "x".repeat(1000) }, false],
  [{ ["k".repeat(1000)]: 1 }, false],
  [Array.from({ length: 1000 }, () => 1), false],
  [[[[["x".repeat(1000)]]]], false],
])("a value is small if its keys, texts and values are: %#", (value, small) => {
  expect(isSmall(value, 1000)).toBe(small)
})
