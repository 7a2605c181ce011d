import { expect, test } from "bun:test"
import { patternOf } from "./pattern.ts"

test("a pattern matches only whole texts", () => {
  expect(["/a1", "/a1/", "x/a1"].map((text) => patternOf("/a\\d").matches(text))).toEqual([true, false, false])
})

test.each([
  { title: "that is no regular expression", given: "(", wants: /missing closing/ },
  { title: "that repetitions make too large", given: "(a{100}){100}", wants: /at most 2500/ },
  { title: "with a look-behind", given: "(a)\\1", wants: /invalid escape/ },
])("a pattern $title is refused", ({ given, wants }) => {
  expect(() => patternOf(given)).toThrow(wants)
})
