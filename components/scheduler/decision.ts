import type { Diagnosis } from "./framework.ts"
import type { Refused } from "./refusal-cycle.ts"
import type { Outcome } from "./schedule-one.ts"

/** What is done with a pod: it gets a node, or others make room for it, or it is tried again. */
export type Decision = Exclude<Outcome, { readonly diagnosis: Diagnosis }> | Refused
