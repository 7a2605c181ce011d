import { expect, test } from "bun:test"
import { seededRandom } from "../clock/random.ts"
import { compile } from "./compile.ts"
import { PER_CALL_LIMIT } from "./limits.ts"
import { typeOfSchema, type Schema } from "./schema-type.ts"
import { jsonOf } from "./values/to-json.ts"

const text: Schema = { type: "string" }
const schema: Schema = {
  type: "object",
  properties: {
    s: text,
    i: { type: "integer" },
    d: { type: "number" },
    b: { type: "boolean" },
    l: { type: "array", items: { type: "integer" } },
    t: { type: "array", items: text, "x-kubernetes-list-type": "set" },
    m: { type: "object", additionalProperties: text },
    o: { type: "object", properties: { x: text, y: { "x-kubernetes-int-or-string": true } } },
    w: { type: "string", format: "date-time" },
  },
}
const self = typeOfSchema(schema)!
const OBJECTS: readonly unknown[] = [
  {
    s: "text",
    i: 3,
    d: 1.5,
    b: true,
    l: [1, 2, 3],
    t: ["a"],
    m: { k: "v" },
    o: { x: "", y: "1" },
    w: "2026-01-01T00:00:00Z",
  },
  {},
  // Data that breaks its schema.
  { s: 1, i: "x", d: [], b: {}, l: "no", t: [1, null], m: [1], o: null, w: "never" },
]

const OPERANDS =
  "self.s self.s self.i self.i self.l self.t self.m self self.s self.i self.d self.b self.l self.t self.m self.o self.o.y self.w 0 1 -1 9223372036854775807 1u 1.5 '' 'a' b'a' null true [] {} int string optional.none() x v".split(
    " ",
  )
const OPERATORS = "+ - * / % == != < <= > >= && || in".split(" ")
const FUNCTIONS =
  "size string int uint double bytes bool type dyn duration timestamp quantity ip cidr url semver isURL optional.of lists.range sets.contains format.named".split(
    " ",
  )
const METHODS =
  "size sum min max indexOf sort reverse distinct slice flatten first last join split replace substring charAt matches find findAll format trim startsWith getHours getDate value orValue or hasValue compareTo add asInteger masked containsIP validate".split(
    " ",
  )
const MACROS = "all exists exists_one map filter transformList transformMap sortBy optMap".split(" ")
const JUNK = "( ) [ ] { } . , ? : ! - ' \" \\ @ ` // \u0000 é".split(" ")

/** Returns a random expression, which is often but not always valid. */
function expression(random: () => number, depth: number): string {
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)]!
  const inner = (): string => expression(random, depth - 1)
  if (depth <= 0) return pick(OPERANDS)
  switch (Math.floor(random() * 12)) {
    case 0:
      return `${inner()} ? ${inner()} : ${inner()}`
    case 1:
      return `${pick(FUNCTIONS)}(${inner()})`
    case 2:
      return `${inner()}.${pick(METHODS)}(${random() < 0.5 ? "" : inner()})`
    case 3:
      return `(${inner()}).${pick(MACROS)}(v, ${inner()})`
    case 4:
      return `[${inner()}, ${random() < 0.2 ? "?" : ""}${inner()}]`
    case 5:
      return `{${inner()}: ${inner()}}`
    case 6:
      return `${inner()}[${random() < 0.2 ? "?" : ""}${inner()}]`
    case 7:
      return `${random() < 0.5 ? "!" : "-"}${inner()}`
    case 8:
      return `has(${inner()}.x)`
    case 9: {
      const whole = inner()
      const at = Math.floor(random() * whole.length)
      return random() < 0.2 ? `${whole.slice(0, at)}${pick(JUNK)}${whole.slice(at)}` : whole
    }
    default:
      return `(${inner()}) ${pick(OPERATORS)} (${inner()})`
  }
}

test("random expressions are refused or return a value or an error, within their budget", () => {
  // given
  const chance = seededRandom(36)
  const random = () => chance.next()
  let usable = 0
  for (let i = 0; i < 2000; i++) {
    const source = expression(random, 1 + (i % 3))
    // when
    const compiled = compile(source, { variables: { self } })
    if ("issues" in compiled) {
      expect(compiled.issues.length).toBeGreaterThan(0)
      continue
    }
    usable++
    for (const object of OBJECTS) {
      const { value, cost, costExceeded } = compiled.program.evaluate({ self: object })
      jsonOf(value)
      // then
      if (!costExceeded) expect(cost).toBeLessThanOrEqual(PER_CALL_LIMIT)
    }
  }
  // Otherwise the test would look at refusals only.
  expect(usable).toBeGreaterThan(150)
})

const doubled = (start: string, step: string, times: number): string => `[${start}]${`.map(a, ${step})`.repeat(times)}`

const hostile = [
  { title: "a list that doubles forty times", given: `${doubled("[1]", "a + a", 40)}[0].size()` },
  { title: "a text that doubles forty times", given: `${doubled("'a'", "a + a", 40)}[0].size()` },
  {
    title: "a text inserted between all its characters",
    given: `${doubled("'abcdefgh'", "a.replace('', a)", 20)}[0].size()`,
  },
  { title: "a text replaced by itself", given: `${doubled("'aaaaaaaa'", "a.replace('a', a)", 20)}[0].size()` },
  {
    title: "a list that is joined with itself",
    given: `${doubled("'aaaaaaaa'", "[a, a, a, a, a, a, a, a].join(a)", 20)}[0].size()`,
  },
  {
    title: "a list that is formatted with itself",
    given: `${doubled("'aaaaaaaa'", "'%s%s%s%s%s%s%s%s'.format([a, a, a, a, a, a, a, a])", 20)}[0].size()`,
  },
  {
    title: "nested lists that are compared",
    given: `${doubled("[dyn(1.0)]", "[dyn(a), dyn(a), dyn(a), dyn(a), dyn(a), dyn(a), dyn(a)]", 20)}.map(a, a == ${doubled("[dyn(1)]", "[dyn(a), dyn(a), dyn(a), dyn(a), dyn(a), dyn(a), dyn(a)]", 20)}[0])[0]`,
  },
  {
    title: "a flattened list of lists",
    given: `${doubled("[1]", "[a, a, a, a, a, a, a, a, a, a].flatten()", 20)}[0].size()`,
  },
  { title: "a range of all ints", given: "9223372036854775807 in lists.range(9223372036854775807)" },
  {
    title: "nested loops over a range",
    given: "lists.range(999).all(a, lists.range(999).all(b, lists.range(999).all(c, true)))",
  },
  { title: "a sort of many items", given: "lists.range(200000).reverse().sort().size()" },
  {
    title: "all matches of an unbounded pattern",
    given: `${doubled("'a'", "a + a", 18)}[0].findAll('a[^b]*b|a').size()`,
  },
]
for (const { title, given } of hostile) {
  test(`${title} is stopped by the cost limit`, () => {
    // given
    const compiled = compile(given, { variables: {} })
    if ("issues" in compiled) throw new Error(compiled.issues[0]!.message)
    // when
    const { costExceeded } = compiled.program.evaluate({})
    // then
    expect(costExceeded).toBe(true)
  })
}

const deep = [
  { title: "brackets", given: "(".repeat(50_000) },
  { title: "lists", given: `${"[".repeat(20_000)}${"]".repeat(20_000)}` },
  { title: "fields", given: `self${".a".repeat(40_000)}` },
  { title: "sums", given: `1${" + 1".repeat(20_000)}` },
  { title: "conditions", given: `${"true ? 1 : ".repeat(8000)}1` },
  { title: "macros that copy", given: `optional.of(1)${".optMap(a, a + a)".repeat(40)}` },
  { title: "too many characters", given: "1".repeat(200_000) },
]
for (const { title, given } of deep) {
  test(`an expression with too many ${title} is refused`, () => {
    const compiled = compile(given, { variables: { self } })
    expect("issues" in compiled && compiled.issues[0]!.message).toMatch(/limit|Syntax error|too large/)
  })
}

test("a pattern on which backtracking engines hang is evaluated", () => {
  // given
  const compiled = compile("self.s.matches('^(a+)+$') || self.s.matches('(x+x+)+y')", { variables: { self } })
  if ("issues" in compiled) throw new Error("refused")
  // when
  const { value } = compiled.program.evaluate({ self: { s: `${"a".repeat(20_000)}b` } })
  // then
  expect(value).toBe(false)
})
