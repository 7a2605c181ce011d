import { expect, test } from "bun:test"
import { describeViolation, ruleViolations, sourceFiles } from "../hack/rules/tree.ts"

test("every file follows the rules about imports, time and randomness", () => {
  expect(ruleViolations(sourceFiles()).map(describeViolation)).toEqual([])
})
