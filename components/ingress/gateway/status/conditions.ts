import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"

/** A condition without `lastTransitionTime` and `observedGeneration`, which are added when the status is written. */
export interface BareCondition {
  readonly type: string
  readonly status: "True" | "False" | "Unknown"
  readonly reason: string
  readonly message: string
}

/** A condition as the status of a Gateway API object stores it. */
export interface Condition extends BareCondition {
  readonly lastTransitionTime: string
  readonly observedGeneration?: number
}

export const holds = (type: string, reason: string, message = ""): BareCondition => ({
  type,
  status: "True",
  reason,
  message,
})
export const fails = (type: string, reason: string, message: string): BareCondition => ({
  type,
  status: "False",
  reason,
  message,
})

/** Returns the conditions to store. A condition whose `status` has not changed keeps its `lastTransitionTime`. */
export function conditionsOf(
  found: readonly BareCondition[],
  present: readonly Condition[],
  observedGeneration: number,
  now: string,
): readonly Condition[] {
  return found.map((each) => {
    const before = present.find(({ type }) => type === each.type)
    const lastTransitionTime = before?.status === each.status ? before.lastTransitionTime : now
    const condition = { ...each, observedGeneration, lastTransitionTime }
    return before !== undefined && deepEqual(before, condition) ? before : condition
  })
}
