import { expect, test } from "bun:test"
import { compile } from "./compile.ts"
import { show } from "./values/convert.ts"
import { typeOfSchema, type Schema } from "./schema-type.ts"
import { formatIssues } from "./syntax/issue.ts"

const schema: Schema = {
  type: "object",
  properties: {
    replicas: { type: "integer" },
    name: { type: "string", maxLength: 10 },
    tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
    labels: { type: "object", additionalProperties: { type: "string" } },
    "a-b": { type: "string" },
    namespace: { type: "string" },
    const: { type: "string" },
    share: { "x-kubernetes-int-or-string": true },
    ratio: { type: "number" },
    wait: { type: "string", format: "duration" },
    since: { type: "string", format: "date-time" },
  },
}
const self = typeOfSchema(schema)!
const object = {
  replicas: 3,
  name: "hé",
  tags: ["a", "b"],
  labels: { a: "1" },
  "a-b": "dash",
  namespace: "default",
  const: "fixed",
  share: "50%",
  ratio: 2,
  wait: "1h",
  since: "2026-03-01T00:00:00Z",
}

/** Returns the value and the cost of an expression, or the message that refuses it. */
function outcome(source: string): string {
  const compiled = compile(source, { variables: { self } })
  if ("issues" in compiled) return formatIssues(compiled.issues, source)
  const { value, cost } = compiled.program.evaluate({ self: object })
  return `${show(value)} at ${cost}`
}

// Messages and costs are those of Kubernetes 1.36.
const cases = [
  { title: "arithmetic has the usual precedence", given: "1 + 2 * 3", wants: "7 at 2" },
  { title: "fields can be read and compared", given: "self.replicas <= 10", wants: "true at 3" },
  {
    title: "names with special characters are escaped",
    given: "self.a__dash__b + self.__namespace__",
    wants: "dashdefault at 6",
  },
  {
    title: "a property called as a reserved word is known by both names",
    given: "self.namespace + self.__namespace__ + self.const",
    wants: "defaultdefaultfixed at 10",
  },
  { title: "has() knows it by both names", given: "has(self.namespace) && has(self.__const__)", wants: "true at 2" },
  { title: "an optional field knows it by both names", given: "self.?namespace.orValue('')", wants: "default at 2" },
  {
    title: "a reserved word that names no property is refused",
    given: "self.package",
    wants: "ERROR: <input>:1:5: undefined field 'package'\n | self.package\n | ....^",
  },
  { title: "an int-or-string is dynamic", given: "type(self.share) == string", wants: "true at 4" },
  { title: "a number of a schema is a double", given: "self.ratio / 4.0", wants: "0.5 at 3" },
  { title: "durations of a schema are durations", given: "self.wait.getMinutes()", wants: "60 at 3" },
  { title: "times of a schema are timestamps", given: "self.since.getMonth()", wants: "2 at 3" },
  { title: "sets are equal in any order", given: "self.tags == ['b', 'a']", wants: "true at 3" },
  { title: "sets are joined without duplicates", given: "(self.tags + ['b', 'c']).size()", wants: "3 at 4" },
  { title: "a macro iterates over a list", given: "self.tags.all(t, t.size() == 1)", wants: "true at 15" },
  { title: "has() returns whether a key exists", given: "has(self.labels.b)", wants: "false at 2" },
  {
    title: "optional syntax reads keys that may be missing",
    given: "self.labels.?b.orValue('none')",
    wants: "none at 2",
  },
  { title: "ints have 64 bits", given: "9223372036854775806 + 1", wants: "9223372036854775807 at 1" },
  { title: "ints overflow with an error", given: "9223372036854775807 + 1", wants: "integer overflow at 1" },
  { title: "a missing key is an error", given: "self.labels['b']", wants: "no such key: b at 3" },
  { title: "true || error is true", given: "1 / 0 == 1 || true", wants: "true at 2" },
  {
    title: "an unknown field is refused with its position",
    given: "self.foo",
    wants: "ERROR: <input>:1:5: undefined field 'foo'\n | self.foo\n | ....^",
  },
  {
    title: "operands of wrong types are refused with their types",
    given: "1 + 'a'",
    wants: "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + 'a'\n | ..^",
  },
]
for (const { title, given, wants } of cases) {
  test(title, () => {
    expect(outcome(given)).toBe(wants)
  })
}

test("an evaluation stops when its budget is used up", () => {
  // given
  const compiled = compile("self.tags.all(t, t != 'c')", { variables: { self } })
  if ("issues" in compiled) throw new Error("refused")
  // when
  const { value, costExceeded } = compiled.program.evaluate({ self: object }, { budget: 5 })
  // then
  expect(costExceeded).toBe(true)
  expect(show(value)).toBe("operation cancelled: actual cost limit exceeded")
})

const bomb = (i: number) => `self.name.matches('${"a{1000}".repeat(8)}${i}')`

test.each([
  {
    title: "one pattern",
    given: `self.name.matches('${"a{1000}".repeat(100)}')`,
    wants: /patterns of this expression/,
  },
  { title: "several patterns", given: [1, 2, 3].map(bomb).join(" || "), wants: /at most 20000 steps are allowed/ },
])("an expression is refused when the repetitions of $title are too large", ({ given, wants }) => {
  const compiled = compile(given, { variables: { self } })
  expect("stage" in compiled && formatIssues(compiled.issues, given)).toMatch(wants)
})

test("an evaluation pays for the patterns that it makes", () => {
  // given 1,000 patterns of 8,000 instructions
  const given = `[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c,
    !self.name.matches('${"x{1000}".repeat(8)}' + string(a * 100 + b * 10 + c)))))`
  const compiled = compile(given, { variables: { self } })
  if ("stage" in compiled) throw new Error(formatIssues(compiled.issues, given))
  // when, then
  expect(compiled.program.evaluate({ self: object })).toMatchObject({ costExceeded: true })
})
