import { expect, test } from "bun:test"
import { goQuoted, goSyntax, goText } from "./go-text.ts"

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
