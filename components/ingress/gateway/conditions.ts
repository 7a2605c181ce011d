import { deepEqual } from "../../../pkg/apimachinery/equal.ts"

/** A condition without the times that the writer adds. */
export interface Told {
  readonly type: string
  readonly status: "True" | "False" | "Unknown"
  readonly reason: string
  readonly message: string
}

/** A condition of an object of Gateway API. */
export interface Condition extends Told {
  readonly lastTransitionTime: string
  readonly observedGeneration?: number
}

export const holds = (type: string, reason: string, message = ""): Told => ({ type, status: "True", reason, message })
export const fails = (type: string, reason: string, message: string): Told => ({
  type,
  status: "False",
  reason,
  message,
})

/** The conditions as they are stored: one whose status has not changed keeps the time of its last transition. */
export function conditionsOf(
  told: readonly Told[],
  present: readonly Condition[],
  observedGeneration: number,
  now: string,
): readonly Condition[] {
  return told.map((each) => {
    const before = present.find(({ type }) => type === each.type)
    const lastTransitionTime = before?.status === each.status ? before.lastTransitionTime : now
    const condition = { ...each, observedGeneration, lastTransitionTime }
    return before !== undefined && deepEqual(before, condition) ? before : condition
  })
}
