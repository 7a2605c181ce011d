import { expect, test } from "bun:test"
import { patternOf, sizeOf } from "./pattern.ts"

test.each([
  { given: "abc", wants: 3 },
  { given: "[a-z\\]]{3}", wants: 3 },
  { given: "(ab){10}", wants: 30 },
  { given: "((a{10}){10}){10}", wants: 1110 },
  { given: "[]a]{2,5}x", wants: 6 },
  { given: "\\d{1,3}\\.", wants: 4 },
])("the pattern $given has about $wants steps", ({ given, wants }) => {
  expect(sizeOf(given)).toBe(wants)
})

test("a pattern matches only whole texts", () => {
  expect(["/a1", "/a1/", "x/a1"].map((text) => patternOf("/a\\d").matches(text))).toEqual([true, false, false])
})

test.each([
  { title: "that is no regular expression", given: "(", wants: /missing closing/ },
  { title: "that repetitions make too large", given: "(a{100}){100}", wants: /at most 2000/ },
  { title: "with a look-behind", given: "(a)\\1", wants: /invalid escape/ },
])("a pattern $title is refused", ({ given, wants }) => {
  expect(() => patternOf(given)).toThrow(wants)
})
