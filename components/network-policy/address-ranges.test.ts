import { expect, test } from "bun:test"
import { merged, rangesOf, rangeText } from "./address-ranges.ts"

test.each([
  { title: "a block without exceptions", given: { cidr: "10.0.0.0/30" }, wants: ["10.0.0.0-10.0.0.3"] },
  { title: "one address", given: { cidr: "10.0.0.7/32" }, wants: ["10.0.0.7"] },
  { title: "all addresses", given: { cidr: "0.0.0.0/0" }, wants: ["0.0.0.0-255.255.255.255"] },
  {
    title: "an exception in the middle",
    given: { cidr: "10.0.0.0/29", except: ["10.0.0.4/31"] },
    wants: ["10.0.0.0-10.0.0.3", "10.0.0.6-10.0.0.7"],
  },
  {
    title: "nested exceptions, in any order, and at both ends",
    given: { cidr: "10.0.0.0/28", except: ["10.0.0.8/29", "10.0.0.0/31", "10.0.0.12/30", "10.0.0.1/32"] },
    wants: ["10.0.0.2-10.0.0.7"],
  },
  {
    title: "exceptions that cover the whole block",
    given: { cidr: "10.0.0.0/31", except: ["10.0.0.0/32", "10.0.0.1/32"] },
    wants: [],
  },
  {
    title: "IPv6",
    given: { cidr: "fd00::/126", except: ["fd00::1/128"] },
    wants: ["fd00::", "fd00::2-fd00::3"],
  },
])("the addresses of an ipBlock: $title", ({ given, wants }) =>
  expect(rangesOf(given).map(rangeText)).toEqual([...wants]),
)

test("blocks that overlap or touch are merged", () => {
  const ranges = ["10.0.1.0/24", "fd00::/127", "10.0.0.0/24", "10.0.1.128/25", "10.0.3.0/24"].flatMap((cidr) =>
    rangesOf({ cidr }),
  )
  expect(merged(ranges).map(rangeText)).toEqual(["10.0.0.0-10.0.1.255", "10.0.3.0-10.0.3.255", "fd00::-fd00::1"])
})
