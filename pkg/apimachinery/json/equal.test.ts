import { describe, expect, test } from "bun:test"
import { deepEqual, deepEqualWithNulls, equalBeside } from "./equal.ts"

const parsed = (text: string) => JSON.parse(text) as object

describe("two values are told apart", () => {
  test.each<[a: string, b: string]>([
    ["1", '"1"'],
    ["[]", "{}"],
    ["[1,2]", "[2,1]"],
    ["[1]", "[1,2]"],
    ['{"a":1}', '{"a":1,"b":2}'],
    ['{"a":{}}', '{"b":{}}'],
    ['{"a":{"b":[{"c":1}]}}', '{"a":{"b":[{"c":2}]}}'],
    // Names of what every object has from the language.
    ['{"__proto__":{}}', '{"a":1}'],
    ['{"__proto__":{}}', '{"a":{}}'],
    ['{"__proto__":{"a":1}}', "{}"],
    ['{"__proto__":{}}', "{}"],
    ['{"x":{"__proto__":{}}}', '{"x":{"a":1}}'],
    ['{"constructor":{}}', '{"a":1}'],
    ['{"toString":"a"}', "{}"],
  ])("%s and %s", (a, b) => {
    for (const [left, right] of [
      [parsed(a), parsed(b)],
      [parsed(b), parsed(a)],
    ] as const) {
      expect(deepEqual(left, right)).toBe(false)
      expect(deepEqualWithNulls(left, right)).toBe(false)
      expect(equalBeside({ own: left }, { own: right }, ["other"])).toBe(false)
    }
  })

  test("by what only the second one has", () => {
    for (const name of ["a", "__proto__", "constructor", "toString"]) {
      const one = parsed(`{"${name}":{"b":1}}`)
      expect([equalBeside({}, one, []), equalBeside(one, {}, [])]).toEqual([false, false])
      expect([equalBeside({}, one, [name]), equalBeside(one, {}, [name])]).toEqual([true, true])
    }
  })
})

test("fields are the same in any order, and absent ones are as undefined ones, and as null unless that counts", () => {
  expect(deepEqual({ a: 1, b: [{}] }, { b: [{}], a: 1 })).toBe(true)
  expect(deepEqual({ a: undefined, b: 1 }, { b: 1, c: null })).toBe(true)
  expect(deepEqualWithNulls({ a: undefined, b: 1 }, { b: 1 })).toBe(true)
  expect(deepEqualWithNulls({ b: 1 }, { b: 1, c: null })).toBe(false)
  for (const text of ['{"__proto__":{"a":[1]}}', '{"constructor":{"prototype":{}}}', '{"__proto__":{}}'])
    expect(deepEqual(parsed(text), parsed(text))).toBe(true)
})
