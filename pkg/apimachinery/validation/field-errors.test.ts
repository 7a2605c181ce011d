import { expect, test } from "bun:test"
import type { Cause } from "../errors.ts"
import { eachWithin, NO_CAUSES, required, within } from "./field-errors.ts"

test("the path of a fault is composed from the inside out", () => {
  // given faults of a part: in a field of it, in an item of it, and in itself
  const found = [required("name"), required("[1].key"), required("")]

  // when they are taken up by a field, by an item of a list, by an item of the list itself, and as they are
  const causes: Cause[] = []
  within(causes, found, "spec")
  within(causes, found, "containers", 0)
  within(causes, found, 2)
  within(causes, found, "")

  // then
  expect(causes.map(({ field }) => field)).toEqual([
    "spec.name",
    "spec[1].key",
    "spec",
    "containers[0].name",
    "containers[0][1].key",
    "containers[0]",
    "[2].name",
    "[2][1].key",
    "[2]",
    "name",
    "[1].key",
    "",
  ])
})

test("items of a list are validated one by one, and an absent list is valid", () => {
  // given a rule that finds fault with one item
  const notEmpty = (value: string) => (value === "" ? [required("value")] : NO_CAUSES)

  // when
  const causes: Cause[] = []
  eachWithin(causes, ["a", "", "b"], "env", notEmpty)
  eachWithin(causes, undefined, "args", notEmpty)

  // then
  expect(causes).toEqual([required("env[1].value")])
})
