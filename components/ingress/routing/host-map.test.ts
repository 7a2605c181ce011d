import { describe, expect, test } from "bun:test"
import { covers, HostMap, intersection, moreSpecific } from "./host-map.ts"

const MAP = new HostMap<string>()
for (const pattern of ["", "*.example.com", "*.b.example.com", "a.example.com"]) MAP.set(pattern, `<${pattern}>`)

test.each([
  { given: "a.example.com", wants: ["<a.example.com>", "<*.example.com>", "<>"] },
  { given: "x.y.example.com", wants: ["<*.example.com>", "<>"] },
  { given: "x.b.example.com", wants: ["<*.b.example.com>", "<*.example.com>", "<>"] },
  { given: "example.com", wants: ["<>"] },
  { given: "", wants: ["<>"] },
])("the patterns that match $given are found, the most specific first", ({ given, wants }) => {
  expect([...MAP.matching(given)].map(([, value]) => value)).toEqual([...wants])
  expect(MAP.find(given)?.[1]).toBe(wants[0]!)
})

// Source: the comments on HTTPRouteSpec.Hostnames.
test.each([
  {
    listener: "test.example.com",
    given: ["test.example.com", "*.example.com", "foo.com"],
    wants: ["test.example.com", "test.example.com"],
  },
  {
    listener: "*.example.com",
    given: ["test.example.com", "foo.example.com", "example.com", "a.b.example.com"],
    wants: ["test.example.com", "foo.example.com", "a.b.example.com"],
  },
  { listener: "*.example.com", given: ["*.b.example.com", "*.com"], wants: ["*.b.example.com", "*.example.com"] },
  { listener: "", given: ["a", "*.b"], wants: ["a", "*.b"] },
  { listener: "a.example.com", given: [], wants: ["a.example.com"] },
  { listener: "a.example.com", given: ["b.example.com"], wants: [] },
])("a listener for $listener serves a route for $given at the hosts $wants", ({ listener, given, wants }) => {
  expect(intersection(listener, given)).toEqual(wants)
})

describe("a pattern", () => {
  test("matches names with one or more labels before it, but not the name itself", () => {
    expect([
      covers("*.a.b", "x.a.b"),
      covers("*.a.b", "x.y.a.b"),
      covers("*.a.b", "a.b"),
      covers("*.a.b", "xa.b"),
    ]).toEqual([true, true, false, false])
  })

  test("is less specific than a name, and more specific than a shorter pattern", () => {
    expect([moreSpecific("a.b", "*.long.pattern.a.b"), moreSpecific("*.a.b", "*.b"), moreSpecific("*.b", "")]).toEqual([
      true,
      true,
      true,
    ])
  })
})
