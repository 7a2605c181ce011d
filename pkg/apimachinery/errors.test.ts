import { expect, test } from "bun:test"
import { invalid } from "./errors.ts"

const KIND = { group: "", kind: "ConfigMap" }
const causes = (count: number, message: string) =>
  Array.from({ length: count }, (_, i) => ({ reason: "FieldValueInvalid" as const, field: `data[${i}]`, message }))

test("an Invalid error lists every cause, but only the first ones of thousands or of very long ones", () => {
  const few = invalid(KIND, "a", causes(2, "bad"))
  expect(few.message).toBe('ConfigMap "a" is invalid: [data[0]: bad, data[1]: bad]')
  const many = invalid(KIND, "a", causes(300_000, "bad"))
  expect(many.details?.causes).toHaveLength(1000)
  expect(many.message).toEndWith("data[999]: bad, and 299000 more]")
  const long = invalid(KIND, "a", causes(100, "x".repeat(100_000)))
  expect(long.message.length).toBeLessThan(500_000)
  expect(long.message).toEndWith("and 97 more]")
  // One is told whole: it shows what was sent.
  expect(invalid(KIND, "a", causes(1, "x".repeat(1_000_000))).details?.causes?.[0]?.message).toHaveLength(1_000_000)
})
