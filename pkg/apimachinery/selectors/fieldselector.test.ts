import { describe, expect, test } from "bun:test"
import { fieldConditions, formatFieldSelector, parseFieldSelector } from "./fieldselector.ts"

describe("field selectors", () => {
  test.each([
    ["", []],
    ["a=b", [{ path: "a", operator: "=", value: "b" }]],
    [
      "a==b,c!=d",
      [
        { path: "a", operator: "=", value: "b" },
        { path: "c", operator: "!=", value: "d" },
      ],
    ],
    [
      "a=,b=",
      [
        { path: "a", operator: "=", value: "" },
        { path: "b", operator: "=", value: "" },
      ],
    ],
    [String.raw`a=x\,y\=z\\`, [{ path: "a", operator: "=", value: "x,y=z\\" }]],
  ] as const)("%p is parsed", (text, wanted) => {
    const found = parseFieldSelector(text)
    expect(found).toEqual([...wanted])
    expect(parseFieldSelector(formatFieldSelector(found))).toEqual(found)
  })

  test.each([
    ["a", "invalid selector: 'a'; can't understand 'a'"],
    ["a=b=c", "unescaped character in value"],
    [String.raw`a=\x`, "invalid escape sequence"],
    ["a=\\", "invalid escape sequence"],
  ])("%p is refused", (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(message)
  })

  test("all requirements must match", () => {
    const values: Record<string, string> = { a: "1", b: "" }
    const holds = (text: string) => fieldConditions(parseFieldSelector(text))((path) => values[path] ?? "")
    expect([holds("a=1,b="), holds("a!=1"), holds("b!=x,c=")]).toEqual([true, false, true])
    expect([holds("a=1,a=1"), holds("a=1,a=2"), holds("a!=2,a!=3"), holds("a=1,a!=1")]).toEqual([
      true,
      false,
      true,
      false,
    ])
  })
})
