import { describe, expect, test } from "bun:test"
import { rebase } from "./rebase.ts"

const parsed = (text: string): unknown => JSON.parse(text)

describe("a later change on top of a restored object", () => {
  test.each<[what: string, value: string, before: string, after: string, wanted: string]>([
    ["is made where it changes other fields", '{"a":1,"b":1}', '{"a":2,"b":1}', '{"a":2,"b":3}', '{"a":1,"b":3}'],
    ["adds and removes fields", '{"a":1,"b":1}', '{"b":1}', '{"c":1}', '{"a":1,"c":1}'],
    [
      "is made in items by their names",
      '[{"name":"x","v":1},{"name":"z"}]',
      '[{"name":"x"},{"name":"z"}]',
      '[{"name":"x"},{"name":"y"}]',
      '[{"name":"x","v":1},{"name":"y"}]',
    ],
    ["adds a key that every object has", "{}", "{}", '{"constructor":"a"}', '{"constructor":"a"}'],
    ["removes such a key", '{"toString":"a"}', '{"toString":"a"}', "{}", "{}"],
    ["adds the key __proto__", '{"a":1}', '{"a":2}', '{"a":2,"__proto__":{"b":1}}', '{"a":1,"__proto__":{"b":1}}'],
  ])("%s", (_, value, before, after, wanted) => {
    const { value: made, conflicts } = rebase(parsed(value), parsed(before), parsed(after), "restored")
    expect([JSON.stringify(made), conflicts]).toEqual([wanted, []])
  })

  test.each(["field", "constructor", "toString", "__proto__"])("is a conflict where both change %s", (key) => {
    const { value, conflicts } = rebase({}, parsed(`{"${key}":{"a":1}}`), parsed(`{"${key}":{"a":2}}`), "restored")
    expect(conflicts).toEqual([{ path: `${key}.a`, restored: undefined, kept: 2 }])
    expect(JSON.stringify(value)).toBe(`{"${key}":{}}`)
  })
})
