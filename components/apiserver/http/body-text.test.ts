import { describe, expect, test } from "bun:test"
import { isReason } from "../../../pkg/apimachinery/errors.ts"
import { parseJson } from "./json.ts"
import { parseYaml } from "./yaml.ts"

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
  ])("%s tells its duplicate fields", (text, faults) => {
    expect(parseJson(text)).toEqual({ value: JSON.parse(text) as unknown, faults })
  })
  test.each([["{"], [""], ["{'a':1}"], [`${"[".repeat(20_000)}${"]".repeat(20_000)}`]])(
    "that is no JSON is a bad request",
    (text) => {
      expect(isBadRequest(() => parseJson(text))).toBe(true)
    },
  )
})

describe("a YAML body", () => {
  test("has the scalars of YAML 1.1, without its times and base-60 numbers", () => {
    expect(parseYaml("a: yes\nb: 2020-01-01\nc: 1:30\nd: 0777\ne: 'x'\n1: z\n")).toEqual({
      value: { a: true, b: "2020-01-01", c: "1:30", d: 511, e: "x", 1: "z" },
      faults: [],
    })
  })
  test("tells keys that stand twice", () => {
    expect(parseYaml("a: 1\nb:\n  c: 1\n  c: 2\n").faults).toEqual([
      'yaml: unmarshal errors:\n  line 4: key "c" already set in map',
    ])
  })
  test("merges what an anchor names", () => {
    expect(parseYaml("base: &b {x: 1}\nderived:\n  <<: *b\n  z: 2\n").value).toEqual({
      base: { x: 1 },
      derived: { x: 1, z: 2 },
    })
  })
  test.each([
    ["a: ["],
    ["a: b: c"],
    ["- a\n\t- b"],
    ["a: &a [*a]"],
    [
      `a: &a [1,1,1,1,1,1,1,1,1,1]\n${Array.from({ length: 12 }, (_, i) => `${"bcdefghijklm"[i]}: &${"bcdefghijklm"[i]} [${Array(10).fill(`*${"abcdefghijkl"[i]}`).join(",")}]`).join("\n")}`,
    ],
  ])("that cannot be read is a bad request", (text) => {
    expect(isBadRequest(() => parseYaml(text))).toBe(true)
  })
})

function isBadRequest(run: () => unknown): boolean {
  try {
    run()
    return false
  } catch (err) {
    return isReason(err, "BadRequest")
  }
}
