import { traced, type Tracing } from "../../../pkg/tracing/tracing.ts"
import type { Admission } from "../admission/admission.ts"

/** Returns the admission chain with a span for each of its two rounds. Upstream has spans for webhooks only. */
export const tracedAdmission = (admission: Admission, tracing: Tracing): Admission => ({
  admit: (attributes) => traced(tracing, "Mutating admission", () => admission.admit(attributes)),
  validate: (attributes) => traced(tracing, "Validating admission", () => admission.validate(attributes)),
  settled: (attributes, written) => admission.settled(attributes, written),
  alongside: (attributes) => admission.alongside(attributes),
})
