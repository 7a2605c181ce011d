import { describe, expect, test } from "bun:test"
import { ExactNumber } from "../apimachinery/json/exact-number.ts"
import { parseYaml, YamlError } from "./yaml.ts"

const valueOf = (text: string): unknown => parseYaml(text).value

/** Returns the message of the error about a text that cannot be parsed. */
function refusal(text: string): string {
  try {
    parseYaml(text)
  } catch (err) {
    if (err instanceof YamlError) return err.message
    throw err
  }
  throw new Error("nothing was thrown")
}

/** Every expectation is what go-yaml gives. */
describe("a YAML text gives", () => {
  test.each<{ what: string; text: string; value: unknown }>([
    { what: "nothing", text: "", value: null },
    { what: "only comments", text: "# a\n  # b", value: null },
    { what: "an empty document", text: "---\n...", value: null },
    { what: "the first of several documents", text: "a: 1\n---\nb: 2", value: { a: 1 } },
    { what: "the text after a byte order mark", text: "\ufeffa: 1", value: { a: 1 } },
    { what: "nested maps", text: "a:\n  b:\n    c: d\n  e: f\ng: h", value: { a: { b: { c: "d" }, e: "f" }, g: "h" } },
    { what: "a list in its key's column", text: "a:\n- 1\n- 2\nb: 3", value: { a: [1, 2], b: 3 } },
    { what: "a list deeper than its key", text: "a:\n  - 1\n  - 2\n", value: { a: [1, 2] } },
    { what: "lists in a list", text: "- - 1\n  - 2\n-\n  - 3\n- \n", value: [[1, 2], [3], null] },
    { what: "maps in a list", text: "- a: 1\n  b: 2\n-\n  c: 3\n", value: [{ a: 1, b: 2 }, { c: 3 }] },
    { what: "empty values", text: "a:\nb: ~\nc:\n- \nd:", value: { a: null, b: null, c: [null], d: null } },
    { what: "keys of several words", text: "? a b\n: c\n'd: e' : f\n", value: { "a b": "c", "d: e": "f" } },
    { what: "a list as the value of an explicit key", text: "? a\n:\n  - b\n? c", value: { a: ["b"], c: null } },
    {
      what: "collections in brackets",
      text: "{a: [1, {b: c}], d: {}, e: [], f, 'g':h}",
      value: { a: [1, { b: "c" }], d: {}, e: [], f: null, g: "h" },
    },
    { what: "pairs in a list", text: "[a: b, ? c : d, e]", value: [{ a: "b" }, { c: "d" }, "e"] },
    { what: "brackets over several lines", text: "a: [1,\n 2\n ,\n3]\nb: {\n}", value: { a: [1, 2, 3], b: {} } },
    { what: "a trailing comma", text: "[a, b, ]", value: ["a", "b"] },
    {
      what: "text with special characters",
      text: "a: b:c#d -e\nf: http://g/?h#i\n",
      value: { a: "b:c#d -e", f: "http://g/?h#i" },
    },
    { what: "comments behind values", text: "a: b # c\nd: 'e'# f\n", value: { a: "b", d: "e" } },
    { what: "plain text over several lines", text: "a: b\n  c\n\n  d\ne: f", value: { a: "b c\nd", e: "f" } },
    {
      what: "quoted text over several lines",
      text: "a: 'b\n  c\n\n  d''e'\nf: \"g\\\n   h\\n\\x41\\u00e9\"",
      value: { a: "b c\nd'e", f: "gh\nAé" },
    },
    {
      what: "literal blocks",
      text: "a: |\n  b\n   c\n\nd: |-\n  e\nf: |+\n  g\n\nh: |2\n   i\n",
      value: { a: "b\n c\n", d: "e", f: "g\n\n", h: " i\n" },
    },
    { what: "folded blocks", text: "a: >\n  b\n  c\n\n  d\n    e\n  f\n", value: { a: "b c\nd\n  e\nf\n" } },
    { what: "a block scalar as an item", text: "- |\n a\n- >-\n b\n", value: ["a\n", "b"] },
    {
      what: "aliases",
      text: "a: &x {b: 1}\nc: *x\nd: [*x, &y e, *y]",
      value: { a: { b: 1 }, c: { b: 1 }, d: [{ b: 1 }, "e", "e"] },
    },
    {
      what: "an anchor of a key, and of a map",
      text: "&x a: b\nc: &y\n  d: *x\ne: *y",
      value: { a: "b", c: { d: "a" }, e: { d: "a" } },
    },
    {
      what: "merged maps",
      text: "b: &b {x: 1, w: 1}\nd:\n  <<: *b\n  x: 2\ne:\n  z: 3\n  <<: [*b, {w: 2}]",
      value: { b: { x: 1, w: 1 }, d: { x: 2, w: 1 }, e: { z: 3, w: 1, x: 1 } },
    },
    { what: "quoted << as a key", text: "'<<': {a: 1}", value: { "<<": { a: 1 } } },
    {
      what: "keys that are no text",
      text: "1: a\ntrue: b\n1.5: c\n0x10: d\n9007199254740993: e",
      value: { 1: "a", true: "b", "1.5": "c", 16: "d", "9007199254740993": "e" },
    },
    { what: "the key __proto__", text: "__proto__: {a: 1}", value: JSON.parse('{"__proto__":{"a":1}}') },
    {
      what: "tags",
      text: "a: !!str 1\nb: !!int '2'\nc: !!float 3\nd: ! 4\ne: !own f\ng: !!binary aGk=\nh: !!str",
      value: { a: "1", b: 2, c: 3, d: "4", e: "f", g: "hi", h: "" },
    },
    { what: "tags with handles", text: "%YAML 1.1\n%TAG !y! tag:yaml.org,2002:\n---\na: !y!int '1'", value: { a: 1 } },
  ])("$what", ({ text, value }) => {
    expect(valueOf(text)).toEqual(value)
  })

  test.each<{ text: string; value: unknown }>([
    ...["y", "Yes", "TRUE", "on"].map((text) => ({ text, value: true })),
    ...["n", "No", "false", "OFF"].map((text) => ({ text, value: false })),
    ...["~", "null", "NULL"].map((text) => ({ text, value: null })),
    ...["tRUE", "nil", "2001-01-01", "12:30", "1e400", "0x", "08x", "1_a", ".", "+", "''1"].map((text) => ({
      text: text === "''1" ? "'1'" : text,
      value: text === "''1" ? "1" : text,
    })),
    { text: "017", value: 15 },
    { text: "0o17", value: 15 },
    { text: "08", value: 8 },
    { text: "0x1F", value: 31 },
    { text: "-0b11", value: -3 },
    { text: "+1_000", value: 1000 },
    { text: "1e3", value: 1000 },
    { text: "1.", value: 1 },
    { text: ".5", value: 0.5 },
    { text: "9007199254740991", value: Number.MAX_SAFE_INTEGER },
    { text: "9007199254740993", value: new ExactNumber("9007199254740993") },
    { text: "-9223372036854775808", value: new ExactNumber("-9223372036854775808") },
    { text: "18446744073709551615", value: new ExactNumber("18446744073709551615") },
    { text: "18446744073709551616", value: 18446744073709552000 },
  ])("for $text: $value", ({ text, value }) => {
    expect(valueOf(`a: ${text}`)).toEqual({ a: value })
  })
})

describe("a YAML text that cannot be parsed is refused with go-yaml's message:", () => {
  test.each<{ text: string; why: string }>([
    { text: "a: b: c", why: "yaml: mapping values are not allowed in this context" },
    { text: "a:\n  b\n  c: d", why: "yaml: line 3: mapping values are not allowed in this context" },
    { text: "a: [", why: "yaml: line 1: did not find expected node content" },
    { text: "a: {b: c", why: "yaml: line 1: did not find expected ',' or '}'" },
    { text: "- a\n\t- b", why: "yaml: line 2: found a tab character that violates indentation" },
    { text: "a: '1'\n\tb: 2", why: "yaml: line 2: found character that cannot start any token" },
    { text: "a: @b", why: "yaml: found character that cannot start any token" },
    { text: "a: - b", why: "yaml: block sequence entries are not allowed in this context" },
    { text: "a: 1\nb\n", why: "yaml: line 3: could not find expected ':'" },
    { text: "- a\nb: c\n", why: "yaml: line 1: did not find expected '-' indicator" },
    { text: "a: 'b", why: "yaml: found unexpected end of stream" },
    { text: 'a: "\\z"', why: "yaml: found unknown escape character" },
    { text: 'a: "\\ud800"', why: "yaml: found invalid Unicode character escape code" },
    { text: "a: |0\n b", why: "yaml: found an indentation indicator equal to 0" },
    { text: "a: &x [*x]", why: "yaml: anchor 'x' value contains itself" },
    { text: "a: *x", why: "yaml: unknown anchor 'x' referenced" },
    { text: "a: !x!y z", why: "yaml: found undefined tag handle" },
    { text: "%YAML 1.2\n---\na: 1", why: "yaml: found incompatible YAML document" },
    { text: "<<: 1", why: "yaml: map merge requires map or sequence of maps as the value" },
    { text: "a: !!int b", why: "yaml: cannot decode !!str `b` as a !!int" },
    { text: "a: .nan", why: "json: unsupported value: NaN" },
    { text: "~: b", why: 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "b"' },
    { text: "a: \u0007", why: "yaml: control characters are not allowed" },
    { text: "- ".repeat(10_001), why: "yaml: exceeded max depth of 10000" },
    { text: "[".repeat(10_001), why: "yaml: exceeded max depth of 10000" },
  ])("$why", ({ text, why }) => {
    expect(refusal(text)).toBe(why)
  })

  test("aliases that repeat too many nodes, or too much text, are refused", () => {
    const levels = Array.from({ length: 9 }, (_, i) => `l${i + 1}: &l${i + 1} [${Array(10).fill(`*l${i}`).join(",")}]`)
    const long = `a: &a ${"x".repeat(100_000)}\nb: [${Array(40).fill("*a").join(",")}]`
    for (const text of [`l0: &l0 [1,2,3,4,5,6,7,8,9,10]\n${levels.join("\n")}`, long])
      expect(refusal(text)).toBe("yaml: document contains excessive aliasing")
  })
})

test("duplicate keys are reported with their lines, and the last one counts", () => {
  expect(parseYaml("a: 1\nb: {c: 1, c: 2}\na: 3")).toEqual({
    value: { a: 3, b: { c: 2 } },
    duplicates: ['line 2: key "c" already set in map', 'line 3: key "a" already set in map'],
  })
})
