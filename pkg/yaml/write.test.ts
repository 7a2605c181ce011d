import { describe, expect, test } from "bun:test"
import { ExactNumber } from "../apimachinery/json/exact-number.ts"
import { RawJson } from "../apimachinery/json/raw-json.ts"
import { writeYaml } from "./write.ts"
import { parseYaml } from "./yaml.ts"

/** Every expected text is what a Kubernetes server returns. */
describe("a value is written as", () => {
  test.each<{ what: string; value: unknown; text: string }>([
    { what: "an empty map", value: {}, text: "{}\n" },
    { what: "an empty list", value: [], text: "[]\n" },
    { what: "nested maps", value: { b: { c: { d: 1 } }, a: null }, text: "a: null\nb:\n  c:\n    d: 1\n" },
    { what: "a list in its key's column", value: { a: { b: [1, true] } }, text: "a:\n  b:\n  - 1\n  - true\n" },
    { what: "maps in a list", value: { a: [{ c: 2, b: 1 }, {}] }, text: "a:\n- b: 1\n  c: 2\n- {}\n" },
    { what: "lists in a list", value: [[1, [2]], [], [[]]], text: "- - 1\n  - - 2\n- []\n- - []\n" },
    { what: "a map with a list in a list", value: [{ a: [{ b: 1 }] }], text: "- a:\n  - b: 1\n" },
    { what: "nothing for undefined", value: { a: undefined, b: { c: undefined } }, text: "b: {}\n" },
    { what: "a key of 128 bytes", value: { ["k".repeat(128)]: 1 }, text: `${"k".repeat(128)}: 1\n` },
    { what: "a longer key", value: { ["k".repeat(129)]: 1 }, text: `? ${"k".repeat(129)}\n: 1\n` },
    {
      what: "a map under a longer key",
      value: { a: { ["k".repeat(129)]: { b: 1, c: [2] } } },
      text: `a:\n  ? ${"k".repeat(129)}\n  : b: 1\n    c:\n    - 2\n`,
    },
    {
      what: "large integers",
      value: [2 ** 53, new ExactNumber("9223372036854775807")],
      text: "- 9007199254740992\n- 9223372036854775807\n",
    },
    {
      what: "floats",
      value: [0.5, -1.25, 1234567.5, 0.00001, 1e21],
      text: "- 0.5\n- -1.25\n- 1.2345675e+06\n- 1e-05\n- 1e+21\n",
    },
    {
      what: "numbers in the form that JSON gives them first",
      value: ["1e15", "1.0", "-0.0", "9223372036854775808", "18446744073709551615", "1e20"].map(
        (text) => new ExactNumber(text),
      ),
      text: "- 1000000000000000\n- 1\n- 0\n- 9223372036854776000\n- 1.8446744073709552e+19\n- 1e+20\n",
    },
    {
      what: "a next-line character as JSON read as YAML has it",
      value: ["a \x85 b", "\x85\x85"],
      text: "- a b\n- |2+\n\n",
    },
    { what: "a byte order mark first", value: "\ufeffa\u00a0é\n", text: String.raw`"\uFEFF\x61\_\xE9\n"` + "\n" },
    {
      what: "text that Go reads as a number",
      value: [".5_0", "._5", "0b-1", "0b_1"],
      text: `- ".5_0"\n- ._5\n- "0b-1"\n- "0b_1"\n`,
    },
    {
      what: "keys whose numbers wrap around in 64 bits",
      value: { "+": 2, "123456789012345678901234567890<": 1 },
      text: "123456789012345678901234567890<: 1\n+: 2\n",
    },
    { what: "raw JSON", value: { a: RawJson.from(`{"z": [1], "b": "yes"}`) }, text: `a:\n  b: "yes"\n  z:\n  - 1\n` },
    {
      what: "keys with numbers sorted by the numbers' value, letters last",
      value: Object.fromEntries(
        ["a10", "a2", "ab", "a.b", "a-b", "A", "1", "a", "a1", "a01", "a_b"].map((key) => [key, 0]),
      ),
      text: `"1": 0\nA: 0\na: 0\na-b: 0\na.b: 0\na_b: 0\na1: 0\na01: 0\na2: 0\na10: 0\nab: 0\n`,
    },
  ])("$what", ({ value, text }) => {
    expect(writeYaml(value)).toBe(text)
  })
})

describe("text is written", () => {
  const words = "word ".repeat(20).trim()
  test.each<{ how: string; texts: readonly string[]; as: (text: string) => string }>([
    {
      how: "without quotes if it cannot be read as anything else",
      texts: [
        "a",
        "a b",
        "a:b",
        "a#b",
        "-a",
        "--",
        ":a",
        "?a",
        "a,b",
        "a'b",
        "é",
        "=",
        "~a",
        "1.2.3",
        "1a",
        "2020-13-01",
        "2020-02-30",
        "24:61",
        "_1",
        "<<",
      ],
      as: (text) => text,
    },
    {
      how: "in double quotes if it would be read as another type",
      texts: [
        "",
        "yes",
        "No",
        "on",
        "OFF",
        "y",
        "N",
        "true",
        "null",
        "~",
        "1",
        "-1",
        "+1",
        "0x1F",
        "017",
        "1_000",
        "1.5",
        ".5",
        "1e3",
        ".inf",
        "-.INF",
        ".nan",
      ].concat([
        "12:30",
        "190:20:30.15",
        "2020-01-01",
        "2020-1-1",
        "2026-01-01T00:00:00Z",
        "2001-12-14t21:59:43.10-05:00",
        "2020-01-01 10:10:10",
        "18446744073709551615",
      ]),
      as: (text) => `"${text}"`,
    },
    {
      how: "in single quotes if its characters have a meaning",
      texts: [
        "---",
        "...",
        "- a",
        "-",
        "?",
        "? a",
        ": a",
        "a: b",
        "a:",
        "a #b",
        "#a",
        " a",
        "a ",
        "[a",
        "{a",
        "&a",
        "*a",
        "!a",
        "|a",
        ">a",
        "%a",
        "@a",
        "`a",
        `"a"`,
      ],
      as: (text) => `'${text}'`,
    },
    { how: "with doubled single quotes inside single quotes", texts: ["'a'"], as: () => "'''a'''" },
    { how: "in blocks if it has several lines", texts: ["a\nb"], as: () => "|-\n  a\n  b" },
    { how: "in blocks with an indicator of how the text ends", texts: ["a\n"], as: () => "|\n  a" },
    { how: "in blocks with an indicator of empty lines at its end", texts: ["a\n\n"], as: () => "|+\n  a\n" },
    { how: "in blocks with an indicator of its indentation", texts: [" a\nb"], as: () => "|2-\n   a\n  b" },
    { how: "with escapes if a line ends with a space", texts: ["a \nb"], as: () => `"a \\nb"` },
    {
      how: "with escapes for tabs, carriage returns and control codes",
      texts: ["a\tb\r\n\u0007\u0001"],
      as: () => String.raw`"a\tb\r\n\a\x01"`,
    },
    { how: "with escapes for characters beyond U+FFFF", texts: ["😀\ufeff"], as: () => String.raw`"\U0001F600\uFEFF"` },
    {
      how: "in lines of at most 80 columns, or one word",
      texts: [words],
      as: () => words.slice(0, 79) + "\n  " + words.slice(80),
    },
    {
      how: "in one line if there is no single space to break at",
      texts: ["a".repeat(200), "a  ".repeat(60) + "b"],
      as: (text) => text,
    },
  ])("$how", ({ texts, as }) => {
    for (const text of texts) {
      const written = writeYaml({ a: text })
      expect(written).toBe(`a: ${as(text)}\n`)
      expect(parseYaml(written).value).toEqual({ a: text })
    }
  })

  test("as a key by the same rules", () => {
    expect(writeYaml({ yes: 0, "a: b": 0, "": 0, "1": 0 })).toBe(`"": 0\n"1": 0\n'a: b': 0\n"yes": 0\n`)
  })
})
