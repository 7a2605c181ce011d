import { expect, test } from "bun:test"
import { base64Fault } from "./base64.ts"

test.each<[text: string, fault: number | undefined]>([
  ["", undefined],
  ["aGk=", undefined],
  ["aGk", 0],
  ["aGkx", undefined],
  ["aG\nkx\r\n", undefined],
  ["a#==", 1],
  ["a=", 1],
  ["aG=", 3],
  ["aG=x", 2],
  ["aGk=x", 4],
  ["aG==\n", undefined],
  ["aGkxa", 4],
])("%j is wrong at %p, as Go says", (text, fault) => {
  expect(base64Fault(text)).toBe(fault)
})
