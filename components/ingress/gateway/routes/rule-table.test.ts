import { expect, test } from "bun:test"
import { fieldOf } from "../../messages/fields.ts"
import type { IncomingRequest } from "../../messages/messages.ts"
import { isRefusal, type Target } from "../../routing/target.ts"
import { patternOf } from "./pattern.ts"
import { RuleTable, type RuleMatch } from "./rule-table.ts"

const rule = (name: string, path: RuleMatch["path"], match: Partial<RuleMatch> = {}) => ({
  match: { path, headers: [], query: [], ...match },
  target: { owner: { kind: "HTTPRoute", key: name } } as Target,
})
const prefix = (value: string) => ({ type: "Prefix", value }) as const
const exact = (value: string) => ({ type: "Exact", value }) as const
const pattern = (value: string) => ({ type: "Pattern", value: patternOf(value) }) as const

const asked = (target: string, method = "GET", headers: Readonly<Record<string, string>> = {}) =>
  ({
    method,
    target,
    fields: Object.entries(headers).map(([name, value]) => fieldOf(name, value)),
  }) as unknown as IncomingRequest

const TABLE = new RuleTable([
  rule("all", prefix("/")),
  rule("short", prefix("/a")),
  rule("long", prefix("/a/b/")),
  rule("exact", exact("/a/b")),
  rule("pattern", pattern("/a/b/[0-9]+")),
  rule("posts", prefix("/m"), { method: "POST" }),
  rule("one header", prefix("/m"), { headers: [{ name: "x", value: "1" }] }),
  rule("two headers", prefix("/m"), {
    headers: [
      { name: "x", value: "1" },
      { name: "y", value: patternOf("a+") },
    ],
  }),
  rule("a parameter", prefix("/m"), { query: [{ name: "q", value: "a b" }] }),
  rule("first", prefix("/same")),
  rule("second", prefix("/same")),
])

test.each([
  { given: asked("/a/b"), wants: "exact" },
  { given: asked("/a/b/"), wants: "long" },
  { given: asked("/a/b/1"), wants: "pattern" },
  { given: asked("/a/b/1x"), wants: "long" },
  { given: asked("/a/bc"), wants: "short" },
  { given: asked("/ab"), wants: "all" },
  { given: asked("/m", "POST", { X: "1" }), wants: "posts" },
  { given: asked("/m", "GET", { X: "1", Y: "b" }), wants: "one header" },
  { given: asked("/m?q=a+b", "GET", { X: "1", Y: "aa" }), wants: "two headers" },
  { given: asked("/m?q=a%20b&q=c"), wants: "a parameter" },
  { given: asked("/m?q=c&q=a%20b"), wants: "all" },
  { given: asked("/same"), wants: "first" },
])("$given.method $given.target goes to the rule $wants", ({ given, wants }) => {
  const found = TABLE.match(given, given.target.replace(/\?.*/, ""))
  expect(found === undefined || isRefusal(found) ? undefined : found.owner.key).toBe(wants)
})

test("a request whose regular expressions would take too long is answered with 500", () => {
  // given many large patterns that all look at one long header
  const large = patternOf("(?:a?){300}b")
  const table = new RuleTable(
    Array.from({ length: 100 }, () => rule("x", prefix("/"), { headers: [{ name: "x", value: large }] })),
  )

  // then
  expect(table.match(asked("/", "GET", { x: "a".repeat(4000) }), "/")).toMatchObject({ status: 500 })
})
