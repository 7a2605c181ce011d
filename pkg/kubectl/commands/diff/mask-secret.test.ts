import { expect, test } from "bun:test"
import { maskedSecrets } from "./mask-secret.ts"

test("values of Secrets are masked, and those that differ say so", () => {
  // Given two versions with an equal, a changed, a removed and an added value
  const [from, to] = [{ data: { a: "x", b: "y", c: "z" } }, { data: { a: "x", b: "Y", d: "w" } }]

  // When they are masked, then no value is left
  expect(maskedSecrets(from, to)).toEqual({
    from: { data: { a: "***", b: "*** (before)", c: "***" } },
    to: { data: { a: "***", b: "*** (after)", d: "***" } },
  })
})
