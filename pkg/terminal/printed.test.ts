import { expect, test } from "bun:test"
import { printed } from "./printed.ts"

test("lines are shown as they are, but for signs that a terminal obeys", () => {
  expect(printed(["größer\t→ 1", "", "a\nb\r\u001b[31mred\u0007\u009b2K\u2028"])).toBe(
    "größer\t→ 1\n\na\\nb\\r^[[31mred\\u0007\\u009b2K\\u2028\n",
  )
})
