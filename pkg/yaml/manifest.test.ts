import { describe, expect, test } from "bun:test"
import { ExactNumber } from "../apimachinery/json/exact-number.ts"
import { readManifest } from "./manifest.ts"

const values = (text: string) => readManifest(text).map(({ value }) => value)

/** Every expectation is what apimachinery's YAMLReader and ToJSON give. */
describe("a manifest gives", () => {
  test.each<{ what: string; text: string; documents: unknown[] }>([
    { what: "its documents", text: "a: 1\n---\nb: 2\n", documents: [{ a: 1 }, { b: 2 }] },
    {
      what: "documents between separators with comments",
      text: "---\na: 1\n--- # c\nb: 2\n---\t\n",
      documents: [{ a: 1 }, { b: 2 }],
    },
    {
      what: "documents with the line ends of Windows",
      text: "a: 1\r\n---\r\nb: 2\r\n",
      documents: [{ a: 1 }, { b: 2 }],
    },
    { what: "documents after a byte order mark", text: "\ufeff---\na: 1\n---\nb: 2", documents: [{ a: 1 }, { b: 2 }] },
    { what: "null for documents of comments", text: "# a\n---\n# b\n", documents: [null, null] },
    { what: "nothing for no text", text: "", documents: [] },
    { what: "text with indented dashes", text: "a: |\n  x\n  ---\n  y\n", documents: [{ a: "x\n---\ny\n" }] },
    { what: "a block that a separator ends", text: "a: |\n---\nb: 1", documents: [{ a: "" }, { b: 1 }] },
    { what: "what stands before the end mark of a document", text: "a: 1\n...\nb: 2\n", documents: [{ a: 1 }] },
    { what: "the last of two equal keys", text: "a: 1\na: 2\n", documents: [{ a: 2 }] },
    { what: "the last of two equal keys in JSON", text: '{"a":1,"a":2}', documents: [{ a: 2 }] },
    {
      what: "JSON with escapes that YAML 1.1 lacks",
      text: '{"a": "\\/"}\n---\n{"b":2}',
      documents: [{ a: "/" }, { b: 2 }],
    },
    { what: "JSON with tabs", text: '{\n\t"a": [\n\t\t2\n\t]\n}', documents: [{ a: [2] }] },
    { what: "YAML that begins with a brace", text: "{a: yes}", documents: [{ a: true }] },
    { what: "the value of an alias", text: "a: &x {b: 1}\nc: *x\n", documents: [{ a: { b: 1 }, c: { b: 1 } }] },
    ...["yes", "Yes", "on", "y", "True"].map((text) => ({ what: text, text: `a: ${text}`, documents: [{ a: true }] })),
    ...["no", "NO", "off", "n", "false"].map((text) => ({ what: text, text: `a: ${text}`, documents: [{ a: false }] })),
    { what: "text in quotes", text: "a: 'yes'\nb: \"017\"", documents: [{ a: "yes", b: "017" }] },
    { what: "octal numbers", text: "a: 017\nb: 0o17\nc: 0644", documents: [{ a: 15, b: 15, c: 420 }] },
    {
      what: "other numbers",
      text: "a: 0x1f\nb: 1_000\nc: 0b11\nd: 1e3",
      documents: [{ a: 31, b: 1000, c: 3, d: 1000 }],
    },
    {
      what: "neither times nor numbers of base 60",
      text: "a: 12:30\nb: 2001-01-01",
      documents: [{ a: "12:30", b: "2001-01-01" }],
    },
    ...["a: 9007199254740993", '{"a": 9007199254740993}'].map((text) => ({
      what: `the exact number of ${text}`,
      text,
      documents: [{ a: new ExactNumber("9007199254740993") }],
    })),
  ])("$what", ({ text, documents }) => {
    expect(values(text)).toEqual(documents)
  })

  test("the line where each document begins", () => {
    const lines = (text: string) => readManifest(text).map(({ line }) => line)
    expect(lines("# a\n\n---\n\n# b\na: 1\n---\nb: 2\n--- # c\n{}\n")).toEqual([1, 6, 8, 10])
    expect(lines("---\r\na: 1\r\n---\r\n\r\nb: 2")).toEqual([2, 5])
  })
})

describe("a manifest that is not YAML is refused with line and column:", () => {
  test.each([
    { text: "metadata: {name: a", why: "line 1, column 19: did not find expected ',' or '}'" },
    {
      text: "kind: Pod\nmetadata: {name: a\nspec:\n  a: 1\n",
      why: "line 3, column 5: did not find expected ',' or '}'",
    },
    { text: "a: 1\n---\n\nb: [", why: "line 4, column 5: did not find expected node content" },
    { text: "a: 1\n---\nb:\n\t- c", why: "line 4, column 1: found character that cannot start any token" },
    { text: "a: 1\n--- b: 2\n", why: "line 2, column 5: invalid Yaml document separator: b: 2" },
    { text: "a: 1\n---\nb: 1\n---b\n", why: "line 4, column 4: invalid Yaml document separator: b" },
    { text: "%YAML 1.1\n---\na: 1\n", why: "did not find expected <document start>" },
    { text: "a: 1\n---\nb: '1\n---\n2'\n", why: "found unexpected end of stream" },
    { text: "a: 1\nb: \u0007", why: "line 2, column 4: control characters are not allowed" },
    { text: '{"a": 1,\n "b": ]}', why: "line 2, column 7: did not find expected ',' or '}'" },
    { text: "a: 1\n---\n\nb: .inf", why: "line 3: json: unsupported value: +Inf" },
    { text: "a: *x", why: "line 1, column 6: unknown anchor 'x' referenced" },
  ])("$why", ({ text, why }) => {
    expect(() => readManifest(text)).toThrow(why)
  })
})
