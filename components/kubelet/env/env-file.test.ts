import { expect, test } from "bun:test"
import { valueInEnvFile } from "./env-file.ts"

test.each([
  ["A=1\nB=2\n", "B", "2"],
  ["A=1\r\nB=2\r\n", "A", "1"],
  ["A=x=y", "A", "x=y"],
  ["# A=0\nA=1 # one", "A", "1 "],
  ["A=1\nA=2", "A", "1"],
  ["no line", "A", undefined],
  ["A=", "A", undefined],
  ["", "A", undefined],
])("in the file %p the key %p is %p", (text, key, expected) => {
  expect(valueInEnvFile(text, key)).toBe(expected)
})
