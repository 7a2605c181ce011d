import { expect, test } from "bun:test"
import { describeViolation, ruleViolations, sourceFiles } from "../hack/rules/tree.ts"

test("every file keeps the rules of import, time and chance", () => {
  expect(ruleViolations(sourceFiles()).map(describeViolation)).toEqual([])
})
