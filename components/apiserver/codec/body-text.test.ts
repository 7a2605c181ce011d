import { Buffer } from "node:buffer"
import { describe, expect, test } from "bun:test"
import { ExactNumber } from "../../../pkg/apimachinery/json/exact-number.ts"
import { BodyError } from "./body-error.ts"
import { parseJson } from "./json.ts"
import { parseYaml } from "./yaml.ts"

const yaml = (text: string) => parseYaml(Buffer.from(text))

/** Returns the message of the error about a body that cannot be read. */
function refusal(read: () => unknown): string {
  try {
    read()
  } catch (err) {
    if (err instanceof BodyError) return err.message
    throw err
  }
  throw new Error("nothing was thrown")
}

describe("a JSON body", () => {
  test.each([
    ['{"a":1,"b":{"c":[{"d":1},{"d":2}]}}', []],
    ['{"a":1,"a":2}', ['duplicate field "a"']],
    ['{"a":{"b":[{"c":1,"c":2}]}}', ['duplicate field "a.b[0].c"']],
    ['{"a":"x:\\"y\\\\","b":"{\\"a\\":1}"}', []],
    ['{"\\u0061":1,"a":2}', ['duplicate field "a"']],
    ['{"__proto__":1,"constructor":{"x":1}}', []],
    ["[]", []],
    ["7", []],
  ])("%s is reported with its duplicate fields", (text, faults) => {
    expect(parseJson(text)).toMatchObject({ value: JSON.parse(text) as unknown, faults })
  })

  test.each([
    { text: "{", why: "unexpected end of JSON input" },
    { text: "", why: "unexpected end of JSON input" },
    { text: "{'a':1}", why: "invalid character '\\'' looking for beginning of object key string" },
    { text: "\ufeff{}", why: "invalid character 'ï' looking for beginning of value" },
    { text: '{"a":"\0"}', why: "invalid character '\\x00' in string literal" },
    { text: "{} x", why: "invalid character 'x' after top-level value" },
    { text: `${"[".repeat(20_000)}${"]".repeat(20_000)}`, why: "invalid character '[' exceeded max depth" },
  ])("that is no valid JSON is refused with the message of Go's decoder: $why", ({ text, why }) => {
    expect(refusal(() => parseJson(text))).toBe(why)
  })

  test.each(["9007199254740993", "-9223372036854775808", "12345678901234567890123", "1.0", "1e3", "1E400", "0.1000"])(
    "keeps the digits of %s",
    (number) => {
      const { value } = parseJson(`{"a":[${number}],"b":"${number}"}`)
      expect(value).toEqual({ a: [new ExactNumber(number)], b: number })
      expect(JSON.stringify(value)).toBe(`{"a":[${number}],"b":"${number}"}`)
    },
  )

  test.each(["0", "7", "-12", "1.5", "0.1", "9007199254740991", "1234567890123456"])("reads %s as a number", (number) =>
    expect(parseJson(`[${number}]`).value).toEqual([Number(number)]),
  )

  test("has U+FFFD in place of unpaired surrogates", () => {
    expect(parseJson(String.raw`["\ud83d\ude00","\ud83d","x\ude00y"]`).value).toEqual(["😀", "\ufffd", "x\ufffdy"])
  })
})

describe("a YAML body", () => {
  test("that is JSON is read by YAML's rules", () => {
    expect(yaml('{"a":1.0,"b":[1e3,9007199254740993],"c":"\\u00e9"}').value).toEqual({
      a: 1,
      b: [1000, new ExactNumber("9007199254740993")],
      c: "é",
    })
  })

  test("reports duplicate keys", () => {
    expect(yaml("a: 1\nb:\n  c: 1\n  c: 2\na: 2\n").faults).toEqual([
      'yaml: unmarshal errors:\n  line 4: key "c" already set in map\n  line 5: key "a" already set in map',
    ])
  })

  test.each([
    { bytes: Buffer.from("a: ["), why: "yaml: line 1: did not find expected node content" },
    { bytes: Buffer.from("a: .inf"), why: "json: unsupported value: +Inf" },
    { bytes: Buffer.from("a: \0"), why: "yaml: control characters are not allowed" },
    { bytes: Buffer.from([97, 0xff]), why: "yaml: invalid leading UTF-8 octet" },
    { bytes: Buffer.from([97, 0xc3, 97]), why: "yaml: invalid trailing UTF-8 octet" },
    { bytes: Buffer.from([97, 0xe2, 0x82]), why: "yaml: incomplete UTF-8 octet sequence" },
  ])("that cannot be read is refused with the message of go-yaml: $why", ({ bytes, why }) => {
    expect(refusal(() => parseYaml(bytes))).toBe(why)
  })
})
