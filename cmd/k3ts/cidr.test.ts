import { expect, test } from "bun:test"
import { addressAt, contains, overlap, parseCidr } from "./cidr.ts"

test.each<[string, boolean]>([
  ["10.42.0.0/16", true],
  ["0.0.0.0/0", true],
  ["10.42.0.0/33", false],
  ["10.42.0.0", false],
  ["10.42.1.0/16", false],
  ["300.0.0.0/8", false],
  ["fd00::/64", false],
])("%s is a range: %p", (text, expected) => expect(parseCidr(text) !== undefined).toBe(expected))

test("addresses are counted from the first, also beyond 128.0.0.0", () => {
  expect(addressAt(parseCidr("192.168.0.0/16")!, 258)).toBe("192.168.1.2")
  expect(contains(parseCidr("192.168.0.0/24")!, "192.168.0.255")).toBe(true)
  expect(contains(parseCidr("192.168.0.0/24")!, "192.168.1.0")).toBe(false)
})

test("ranges overlap when one holds the other, not when they are neighbours", () => {
  const range = (text: string) => parseCidr(text)!
  expect(overlap(range("10.0.0.0/8"), range("10.43.0.0/16"))).toBe(true)
  expect(overlap(range("10.43.0.0/16"), range("10.0.0.0/8"))).toBe(true)
  expect(overlap(range("10.42.0.0/16"), range("10.43.0.0/16"))).toBe(false)
})
