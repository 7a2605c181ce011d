import { expect, test } from "bun:test"
import { Attempts } from "./attempts.ts"

const attempts = () => new Attempts({ monotonic: () => 0 }, 2)

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9"],
  ["fe80::1", "fe80::2"],
  ["::ffff:192.0.2.1", "::ffff:192.0.2.1"],
])("attempts of %s and %s count together", (one, other) => {
  const counted = attempts()
  counted.add(one)
  counted.add(other)
  expect(counted.waitOf(one)).toBe(60)
  expect(counted.waitOf(other)).toBe(60)
})

test.each([
  ["192.0.2.1", "192.0.2.2"],
  ["2001:db8:1:2::1", "2001:db8:1:3::1"],
  ["::ffff:192.0.2.1", "::ffff:192.0.2.2"],
  ["192.0.2.1", ""],
])("attempts of %s and %s count apart", (one, other) => {
  const counted = attempts()
  counted.add(one)
  counted.add(one)
  expect(counted.waitOf(other)).toBe(0)
})
