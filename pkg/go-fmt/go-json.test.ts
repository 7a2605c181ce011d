import { describe, expect, test } from "bun:test"
import { exactValue } from "../apimachinery/json/exact-number.ts"
import { goJson } from "./go-json.ts"

describe("JSON is written as Go's encoding/json writes it:", () => {
  test.each([
    {
      title: "keys that are numbers are sorted as texts",
      given: { 2: "b", 10: "a", x: 1 },
      wants: '{"10":"a","2":"b","x":1}',
    },
    {
      title: "keys are sorted at all depths",
      given: { b: [{ d: 1, c: 2 }], a: {} },
      wants: '{"a":{},"b":[{"c":2,"d":1}]}',
    },
    { title: "signs of HTML are escaped", given: "<a&b>\u2028", wants: '"\\u003ca\\u0026b\\u003e\\u2028"' },
    { title: "undefined members are left out", given: { a: undefined, b: null }, wants: '{"b":null}' },
    {
      title: "a member __proto__ is one like others",
      given: JSON.parse('{"__proto__":1,"a":2}'),
      wants: '{"__proto__":1,"a":2}',
    },
  ])("$title", ({ given, wants }) => {
    expect(goJson(given)).toBe(wants)
  })

  test("floats have Go's form, and large integers stay exact", () => {
    const given = JSON.parse('{"a":1.0,"b":1e3,"c":9007199254740993,"d":1e21,"e":1.50,"f":1e-7}', exactValue)
    expect(goJson(given)).toBe('{"a":1,"b":1000,"c":9007199254740993,"d":1e+21,"e":1.5,"f":1e-7}')
  })

  test("a struct keeps its order, and indents are Go's", () => {
    expect(goJson({ kind: "A", apiVersion: "v1", data: { 1: [] } }, { indent: "  ", sorted: false })).toBe(
      '{\n  "kind": "A",\n  "apiVersion": "v1",\n  "data": {\n    "1": []\n  }\n}',
    )
    expect(goJson({ kind: "A", data: { "9": 1, "10": 2, ".a": 3 } }, { sorted: false })).toBe(
      '{"kind":"A","data":{".a":3,"10":2,"9":1}}',
    )
    expect(goJson({ b: { 3: [1, {}], 20: {} } }, { indent: " " })).toBe(
      '{\n "b": {\n  "20": {},\n  "3": [\n   1,\n   {}\n  ]\n }\n}',
    )
  })
})
