import { expect, test } from "bun:test"
import { SharedParts } from "./shared-parts.ts"

const conditions = () => [{ type: "Ready", status: "True", lastProbeTime: null }]

test("values of one group share the parts that are equal, and stay what they are", () => {
  const parts = new SharedParts()
  const one = parts.of({ podIP: "10.42.0.5", conditions: conditions() }, "a")
  const two = parts.of({ podIP: "10.42.0.6", conditions: conditions() }, "a")
  expect(two).toEqual({ podIP: "10.42.0.6", conditions: conditions() })
  expect(two.conditions).toBe(one.conditions)
})

test("an equal value is the last one of its group", () => {
  const parts = new SharedParts()
  const one = parts.of({ conditions: conditions() }, "a")
  expect(parts.of({ conditions: conditions() }, "a")).toBe(one)
  expect(parts.of({ conditions: conditions() }, "b")).not.toBe(one)
})

test.each([
  ["null and absent", { a: null }, {}],
  ["absent and null", {}, { a: null }],
  ["undefined and absent", { a: undefined }, {}],
  ["absent and undefined", { b: 1 }, { a: undefined, b: 1 }],
  ["undefined and another key", { a: undefined }, { b: 1 }],
  ["a list and an object", { a: [1] }, { a: { 0: 1 } }],
  ["lists of which one is longer", { a: [1, 2] }, { a: [1] }],
  ["lists of which one is shorter", { a: [1] }, { a: [1, 2] }],
  ["an object and null", { a: {} }, { a: null }],
])("%s are not taken for equal", (_, first, second) => {
  const parts = new SharedParts()
  const one = parts.of<object>(first, "a")
  const two = parts.of<object>(second, "a")
  expect(two).not.toBe(one)
  expect(two).toStrictEqual(second)
})

test("large values are neither kept nor shared", () => {
  const parts = new SharedParts()
  const large = () => ({ text: "x".repeat(70_000), conditions: conditions() })
  const one = parts.of(large(), "a")
  const two = parts.of(large(), "a")
  expect(two).toEqual(one)
  expect(two.conditions).not.toBe(one.conditions)
})
