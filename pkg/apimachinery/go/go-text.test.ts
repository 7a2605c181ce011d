import { expect, test } from "bun:test"
import { goQuoted, goSyntax, goText, parseInt64 } from "./go-text.ts"

test.each([
  { given: 'a"b\\', wants: '"a\\"b\\\\"' },
  { given: "\u0000\n\u007f", wants: '"\\x00\\n\\x7f"' },
  { given: "ä\u00a0\u{e0001}", wants: '"ä\\u00a0\\U000e0001"' },
])("%q prints $given as Go does", ({ given, wants }) => {
  expect(goQuoted(given)).toBe(wants)
})

test.each([
  { given: { b: [1, true, null], a: { c: "x y" } }, text: "map[a:map[c:x y] b:[1 true <nil>]]" },
  { given: [], text: "[]" },
])("%v prints $given as Go does", ({ given, text }) => {
  expect(goText(given)).toBe(text)
})

test("%#v prints values with their Go types", () => {
  expect(goSyntax({ a: [1, "x", null] })).toBe('map[string]interface {}{"a":[]interface {}{1, "x", interface {}(nil)}}')
})

test.each([
  { text: "-9223372036854775808", value: -(2n ** 63n) },
  { text: "+0000000000000000000000000000009223372036854775807", value: 2n ** 63n - 1n },
  { text: "-000", value: 0n },
  { text: "9223372036854775808", problem: 'parsing "9223372036854775808": value out of range' },
  { text: "1".repeat(20), problem: "value out of range" },
  { text: "0x10", problem: "invalid syntax" },
  { text: "1_0", problem: "invalid syntax" },
  { text: "+", problem: "invalid syntax" },
  { text: "", problem: 'parsing "": invalid syntax' },
])("strconv.ParseInt reads $text as Go does", ({ text, value, problem }) => {
  if (problem === undefined) expect(parseInt64(text)).toBe(value!)
  else expect(() => parseInt64(text)).toThrow(problem)
})
