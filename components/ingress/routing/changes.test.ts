import { expect, test } from "bun:test"
import { fieldOf } from "../messages/fields.ts"
import { changedFields, changedTarget, locationOf } from "./changes.ts"

// Source: the table in the comment on HTTPPathModifier.ReplacePrefixMatch.
test.each([
  { path: "/foo/bar", prefix: "/foo", value: "/xyz", wants: "/xyz/bar" },
  { path: "/foo/bar", prefix: "/foo", value: "/xyz/", wants: "/xyz/bar" },
  { path: "/foo", prefix: "/foo", value: "/xyz", wants: "/xyz" },
  { path: "/foo/", prefix: "/foo", value: "/xyz", wants: "/xyz/" },
  { path: "/foo/bar", prefix: "/foo", value: "", wants: "/bar" },
  { path: "/foo/", prefix: "/foo", value: "", wants: "/" },
  { path: "/foo", prefix: "/foo", value: "", wants: "/" },
  { path: "/foo/", prefix: "/foo", value: "/", wants: "/" },
  { path: "/foo", prefix: "/foo", value: "/", wants: "/" },
  { path: "/foo?q=/foo", prefix: "/foo", value: "/xyz", wants: "/xyz?q=/foo" },
])("of $path the prefix $prefix is replaced by $value: $wants", ({ path, prefix, value, wants }) => {
  const normal = path.replace(/\?.*/, "")
  expect(changedTarget(path, normal, { kind: "prefix", prefix: prefix.length, value })).toBe(wants)
})

test("after a replaced prefix follows the rest of the normalized path", () => {
  expect(changedTarget("/x/../foo/../foo/a", "/foo/a", { kind: "prefix", prefix: 4, value: "/only" })).toBe("/only/a")
})

test.each([
  { title: "another host", given: { hostname: "other" }, wants: "http://other:8080/a?b" },
  {
    title: "another scheme, with the default port of the scheme",
    given: { scheme: "https" as const },
    wants: "https://shop/a?b",
  },
  { title: "another port", given: { port: 8443, scheme: "https" as const }, wants: "https://shop:8443/a?b" },
  { title: "the default port of the scheme, which is left out", given: { port: 80 }, wants: "http://shop/a?b" },
  { title: "another path", given: { path: { kind: "full" as const, value: "/c" } }, wants: "http://shop:8080/c?b" },
])("a redirect leads to $title", ({ given, wants }) => {
  const origin = { client: "", isSecure: false, port: 8080, listener: 8080, address: "", serverName: undefined }
  expect(locationOf({ status: 302, ...given }, { target: "/a?b", authority: "shop:8080", origin }, "/a")).toBe(wants)
})

test("fields are replaced, added and removed, whatever the case of their names", () => {
  const given = [fieldOf("X-Set", "1"), fieldOf("x-set", "2"), fieldOf("X-Add", "1"), fieldOf("X-Gone", "1")]
  const changed = changedFields(given, {
    set: [fieldOf("x-Set", "new")],
    add: [fieldOf("X-Add", "2")],
    remove: new Set(["x-gone"]),
  })
  expect(changed.map(({ name, value }) => `${name}: ${value}`)).toEqual(["X-Add: 1", "x-Set: new", "X-Add: 2"])
})
