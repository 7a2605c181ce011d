import { expect, test } from "bun:test"
import { exactKey } from "./exact-key.ts"

test("different lists of texts have different keys, whatever characters the texts contain", () => {
  const texts = ["", "a", "b", "a\nb", "1:a", "1:", ":", "\0", "a\0", "2:a"]
  const lists: string[][] = [[]]
  for (const one of texts) {
    lists.push([one])
    for (const two of texts) {
      lists.push([one, two])
      for (const three of texts) lists.push([one, two, three])
    }
  }
  expect(new Set(lists.map(exactKey)).size).toBe(lists.length)
})

test("equal lists of texts have the same key", () => {
  expect(exactKey(["a", "b"])).toBe(exactKey(["a", "b"]))
})
