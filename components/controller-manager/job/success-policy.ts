import type { SuccessPolicy } from "../../../pkg/api/batch/v1/jobspec.ts"
import { countOf, overlap, parseIndexes, type Indexes } from "./indexes.ts"

/**
 * Returns the rule that the succeeded indexes meet; undefined if none is met. Source:
 * pkg/controller/job/success_policy.go.
 */
export function metSuccessRule(
  policy: SuccessPolicy | undefined,
  completions: number,
  succeeded: Indexes,
): string | undefined {
  if (policy === undefined || succeeded.length === 0) return undefined
  const rule = policy.rules.findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined) return succeededCount !== undefined && countOf(succeeded) >= succeededCount
    const asked = parseIndexes(succeededIndexes, completions)
    if (asked.length === 0) return false
    const there = overlap(asked, succeeded)
    return there === countOf(asked) || (succeededCount !== undefined && there >= succeededCount)
  })
  return rule === -1 ? undefined : `Matched rules at index ${rule}`
}
