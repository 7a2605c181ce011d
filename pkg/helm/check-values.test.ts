/** Schemas of our own, and what the library of Helm 3.18.6 answers for each with some values, recorded once. */
import { describe, expect, test } from "bun:test"
import { checkValues } from "./check-values.ts"
import { processDependencies } from "./dependencies.ts"
import { goValues, type Dict } from "./functions/convert.ts"
import { loadFiles } from "./load-chart.ts"
import recorded from "./recorded-schemas.json"

interface Case {
  readonly title: string
  readonly schema: unknown
  readonly values: unknown
  /** The schema of a subchart. */
  readonly sub?: unknown
  readonly error?: string
}

const CHART = "apiVersion: v2\nname: c\nversion: 1.0.0\n"
const DEPENDENCIES = "dependencies: [{name: sub, version: 1.0.0, condition: sub.enabled}]\n"

/** Returns what is wrong with values for a chart of these schemas; undefined where nothing is. */
function refusal(schema: string, given: unknown, sub?: unknown): string | undefined {
  const files: Readonly<Record<string, string>> = {
    "Chart.yaml": sub === undefined ? CHART : CHART + DEPENDENCIES,
    "values.schema.json": schema,
    ...(sub === undefined
      ? {}
      : {
          "charts/sub/Chart.yaml": CHART.replace("name: c", "name: sub"),
          "charts/sub/values.schema.json": JSON.stringify(sub),
        }),
  }
  const chart = loadFiles(Object.entries(files).map(([name, text]) => ({ name, data: Buffer.from(text) })))
  const values = goValues(given) as Dict
  try {
    checkValues(processDependencies(chart, values), values)
    return undefined
  } catch (err) {
    return (err as Error).message
  }
}

/** Helm names faults of several keys in any order. */
const inOrder = (text: string | undefined): readonly string[] | undefined => text?.trimEnd().split("\n").toSorted()

describe("a schema for values is applied as Helm does, which", () => {
  test.each(recorded as readonly Case[])("$title", ({ schema, values, sub, error }) => {
    expect(inOrder(refusal(JSON.stringify(schema), values, sub))).toEqual(inOrder(error))
  })
})

const definitions = (count: number, of: (i: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [String(i), of(i)]))
const at = (i: number) => ({ $ref: `#/$defs/${i}` })
const nested = (depth: number, open: string, inner: string, close: string) =>
  open.repeat(depth) + inner + close.repeat(depth)

/** A machine that does much else takes longer. */
const LIMIT_MS = 30_000

describe("a hostile schema is refused that", () => {
  test.each([
    [
      "doubles the work with each of many references",
      { $defs: definitions(60, (i) => (i === 0 ? { type: "string" } : { anyOf: [at(i - 1), at(i - 1)] })), ...at(59) },
      {},
      "too much work",
    ],
    [
      "leads to itself in many ways",
      {
        $defs: {
          a: { allOf: Array.from({ length: 50 }, () => ({ properties: { x: at(0) } })) },
          0: at(1),
          1: { allOf: Array.from({ length: 50 }, () => ({ $ref: "#/$defs/a" })) },
        },
        $ref: "#/$defs/a",
      },
      { x: { x: { x: { x: { x: {} } } } } },
      "too much work",
    ],
    [
      "has a long chain of references",
      { $defs: definitions(5000, (i) => (i === 0 ? true : at(i - 1))), ...at(4999) },
      {},
      "nested too deep",
    ],
    [
      "looks for equal items in a list of large ones, often",
      { properties: { l: { allOf: Array.from({ length: 50 }, () => ({ uniqueItems: true })) } } },
      { l: Array.from({ length: 300 }, (_, i) => Array.from({ length: 100 }, (__, j) => i + j)) },
      "too much work",
    ],
    [
      "compares each of many values with many",
      { properties: { l: { items: { enum: Array.from({ length: 3000 }, (_, i) => i) } } } },
      { l: Array.from({ length: 3000 }, () => "x") },
      "too much work",
    ],
    [
      "has a pattern with large repetitions",
      { properties: { a: { pattern: "((a{1000}){1000}){1000}" } } },
      {},
      "error parsing regexp",
    ],
  ])(
    "%s",
    (_, schema, values, message) => {
      expect(refusal(JSON.stringify(schema), values)).toContain(message)
    },
    LIMIT_MS,
  )

  test.each([
    ["lists in lists", nested(100_000, "[", "1", "]")],
    ["schemas in schemas", nested(100_000, '{"not":', "{}", "}")],
  ])("is nested very deep: %s", (_, schema) => {
    expect(refusal(schema, {})).toMatch(/nested too deep|exceeded max depth/)
  })
})

test("a pattern that others match in exponential time is matched in linear time", () => {
  const schema = JSON.stringify({ properties: { a: { pattern: "^(a+)+$" } } })
  expect(refusal(schema, { a: `${"a".repeat(50_000)}!` })).toContain("- at '/a': 'aaaa")
})

test("nothing is fetched: a schema at another address allows everything", () => {
  const schema = JSON.stringify({
    properties: { a: { $ref: "https://127.0.0.1:1/schema.json#/x" }, b: { $ref: "urn:x:y" }, c: { type: "string" } },
  })
  expect(refusal(schema, { a: 1, b: 2 })).toBeUndefined()
  expect(refusal(schema, { a: 1, b: 2, c: 3 })).toContain("at '/c': got number, want string")
})

test("an item after those with schemas of their own is told by its place in the list", () => {
  const schema = JSON.stringify({ properties: { l: { prefixItems: [true, true], items: { type: "string" } } } })
  expect(refusal(schema, { l: [1, 2, "a", 4] })).toContain("- at '/l/3': got number, want string")
})

test("no file is read", () => {
  expect(refusal(JSON.stringify({ $ref: "file:///etc/passwd" }), {})).toContain(
    'failing loading "file:///etc/passwd": open /etc/passwd: no such file or directory',
  )
})

test("the text about very many faults ends", () => {
  const values = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`key-${i}`, i]))
  const found = refusal(JSON.stringify({ additionalProperties: { type: "string" } }), values)!
  expect(found.length).toBeLessThan(17_000)
  expect(found).toContain("the rest is left out")
})

test("keys such as __proto__ are keys as any other", () => {
  const schema = '{"properties":{"__proto__":{"type":"string"}},"required":["constructor","toString"],"$defs":{}}'
  expect(refusal(schema, JSON.parse('{"__proto__": 1}'))).toBe(
    "values don't meet the specifications of the schema(s) in the following chart(s):\nc:\n" +
      "- at '': missing properties 'constructor', 'toString'\n- at '/__proto__': got number, want string\n",
  )
  expect("polluted" in {}).toBe(false)
})

test("a schema that is no JSON is refused in Go's words", () => {
  expect(refusal("{", {})).toEndWith("c:\nunexpected end of JSON input")
})
