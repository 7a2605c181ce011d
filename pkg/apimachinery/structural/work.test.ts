import { describe, expect, test } from "bun:test"
import { canonicalSet } from "../patch/apply/canonical-set.ts"
import { Cursor } from "../decoding/decoder-cursor.ts"
import { invalid } from "../errors.ts"
import { coercerOf } from "./coerce.ts"
import type { JsonSchema } from "./json-schema.ts"
import { schemaFaults } from "./validate.ts"

const many = <T>(count: number, make: (i: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => make(i))
const list = (items: JsonSchema): JsonSchema => ({ type: "array", items })
const TOO_MUCH = /too many alternatives for an object of this size/
/** As many items as an object can have. */
const ITEMS = 120_000

describe("a list of many items by a schema of many parts", () => {
  test.each([
    [
      "alternatives (anyOf)",
      { type: "string", anyOf: many(2000, (i) => ({ pattern: `^x${i}$` })) },
      (i: number) => `x${i}`,
    ],
    ["alternatives (oneOf)", { type: "integer", oneOf: many(2000, (i) => ({ enum: [i] })) }, (i: number) => i % 2000],
    ["parts (allOf)", { type: "integer", allOf: many(2000, (i) => ({ maximum: 1e6 + i })) }, (i: number) => i],
    ["parts (not)", { type: "integer", allOf: many(2000, (i) => ({ not: { enum: [-i - 1] } })) }, (i: number) => i],
    [
      "objects in its enum",
      { type: "object", "x-kubernetes-preserve-unknown-fields": true, enum: many(2000, (a) => ({ a })) },
      (i: number) => ({ a: i % 2000 }),
    ],
  ] as const satisfies readonly (readonly [string, JsonSchema, (i: number) => unknown])[])(
    "is refused where each is compared with each: %s",
    (_title, schema, item) => {
      // when
      const faults = schemaFaults(list(schema), many<unknown>(ITEMS, item), "spec.list")
      // then
      expect(faults.map(({ message }) => message)).toEqual([expect.stringMatching(TOO_MUCH)])
      // and a short list is not
      expect(schemaFaults(list(schema), many<unknown>(20, item), "spec.list")).toEqual([])
    },
  )

  test.each([
    ["wrong types", { type: "integer" }, () => "a"],
    ["values that are not in an enum of 20,000", { type: "string", enum: many(20_000, (i) => `e${i}`) }, () => "wrong"],
    ["objects without 500 required fields", { type: "object", required: many(500, (i) => `r${i}`) }, () => ({})],
  ] as const satisfies readonly (readonly [string, JsonSchema, (i: number) => unknown])[])(
    "has a bounded number of faults, and of texts: %s",
    (_title, schema, item) => {
      // when
      const faults = schemaFaults(list(schema), many<unknown>(ITEMS, item), "spec.list")
      // then
      expect(faults.length).toBeLessThan(20_000)
      const characters = [...new Set(faults)].reduce((sum, { message }) => sum + message.length, 0)
      expect(characters).toBeLessThan(6_000_000)
      expect(invalid({ group: "", kind: "List" }, "a", faults).message).toContain(" more]")
    },
  )
})

test("an object that gets a large default in each of its items is refused as too large before its JSON is made", () => {
  // given
  const schema: JsonSchema = {
    type: "object",
    properties: { list: list({ type: "object", properties: { a: { type: "string", default: "x".repeat(1000) } } }) },
  }
  const decode = coercerOf(schema)
  const object = (items: number) => ({ apiVersion: "v1", kind: "List", list: many(items, () => ({})) })
  // when, then
  expect(() => decode(object(ITEMS), new Cursor(), 0, undefined)).toThrow("etcdserver: request is too large")
  expect(decode(object(2), new Cursor(), 0, undefined)).toMatchObject({
    list: [{ a: "x".repeat(1000) }, { a: "x".repeat(1000) }],
  })
})

test("the fields of a set of many numbers are in the order of the numbers", () => {
  const numbers = many(1000, (i) => 1000 - i)
  const set = Object.fromEntries(numbers.map((number) => [`v:${number}`, {}]))
  expect(Object.keys(canonicalSet(set))).toEqual(numbers.toReversed().map((number) => `v:${number}`))
})
