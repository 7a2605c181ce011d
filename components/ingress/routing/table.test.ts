import { describe, expect, test } from "bun:test"
import { RoutingTable, type Route } from "./table.ts"

const exact = (host: string, value: string, target = `${host}=${value}`): Route<string> => ({
  host,
  path: { type: "Exact", value },
  target,
})
const prefix = (host: string, value: string, target = `${host}${value}`): Route<string> => ({
  host,
  path: { type: "Prefix", value },
  target,
})

/** The rules of kubernetes-sigs/ingress-controller-conformance, features/path_rules and host_rules. */
const TABLE = RoutingTable.of([
  exact("exact", "/foo"),
  prefix("prefix", "/foo"),
  prefix("prefix", "/aaa/bbb"),
  prefix("prefix", "/aaa"),
  prefix("mixed", "/foo"),
  exact("mixed", "/foo"),
  prefix("slashes", "/aaa/bbb/"),
  exact("slashes", "/foo/"),
  prefix("*.foo.com", "/"),
  prefix("foo.bar.com", "/"),
  prefix("*.bar.com", "/"),
  exact("both.bar.com", "/only"),
])

describe("a routing table", () => {
  test.each([
    { host: "exact", path: "/foo", wants: "exact=/foo" },
    { host: "exact", path: "/foo/", wants: undefined },
    { host: "exact", path: "/FOO", wants: undefined },
    { host: "exact", path: "/bar", wants: undefined },
    { host: "prefix", path: "/foo", wants: "prefix/foo" },
    { host: "prefix", path: "/foo/", wants: "prefix/foo" },
    { host: "prefix", path: "/FOO", wants: undefined },
    { host: "prefix", path: "/aaa/bbb", wants: "prefix/aaa/bbb" },
    { host: "prefix", path: "/aaa/bbb/ccc", wants: "prefix/aaa/bbb" },
    { host: "prefix", path: "/aaa/ccc", wants: "prefix/aaa" },
    { host: "prefix", path: "/aaaccc", wants: undefined },
    { host: "prefix", path: "/aaa/bbbccc", wants: "prefix/aaa" },
    { host: "prefix", path: "/aaa/bbb/a/long/way/below/it", wants: "prefix/aaa/bbb" },
    { host: "mixed", path: "/foo", wants: "mixed=/foo" },
    { host: "mixed", path: "/foo/", wants: "mixed/foo" },
    { host: "slashes", path: "/aaa/bbb", wants: "slashes/aaa/bbb/" },
    { host: "slashes", path: "/aaa/bbb/", wants: "slashes/aaa/bbb/" },
    { host: "slashes", path: "/aaa", wants: undefined },
    { host: "slashes", path: "/foo", wants: undefined },
    { host: "slashes", path: "/foo/", wants: "slashes=/foo/" },
    { host: "bar.foo.com", path: "/", wants: "*.foo.com/" },
    { host: "baz.bar.foo.com", path: "/", wants: undefined },
    { host: "foo.com", path: "/", wants: undefined },
    { host: ".foo.com", path: "/", wants: undefined },
    { host: "foo.bar.com", path: "/x", wants: "foo.bar.com/" },
    { host: "other.bar.com", path: "/x", wants: "*.bar.com/" },
    { host: "both.bar.com", path: "/x", wants: undefined },
    { host: "", path: "/", wants: undefined },
    { host: "*.foo.com", path: "/", wants: "*.foo.com/" },
  ])("gives $host and $path the target $wants", ({ host, path, wants }) => {
    expect(TABLE.find(host, path)?.target).toBe(wants)
  })

  test("tries rules without a host last, and the target without a path after all paths", () => {
    // given
    const table = RoutingTable.of([
      prefix("", "/api", "everywhere"),
      { host: "", target: "fallback" },
      prefix("shop", "/", "shop"),
      exact("lone", "/here", "lone"),
      { host: "lone", target: "lone's own" },
    ])

    // then
    const asked = ["nobody/api", "nobody/", "shop/api", "lone/here", "lone/api", "/api"]
    const found = asked.map((url) => table.find(url.slice(0, url.indexOf("/")), url.slice(url.indexOf("/")))?.target)
    expect(found).toEqual(["everywhere", "fallback", "shop", "lone", "lone's own", "everywhere"])
  })

  test("keeps the first of equal routes", () => {
    const table = RoutingTable.of([prefix("a", "/x", "first"), prefix("a", "/x/", "second"), exact("a", "/x", "third")])
    expect([table.find("a", "/x/y")?.target, table.find("a", "/x")?.target]).toEqual(["first", "third"])
  })
})
