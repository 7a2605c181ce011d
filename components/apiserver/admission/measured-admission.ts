import { isPending } from "../call/maybe-promise.ts"
import type { Admission, AdmissionAttributes } from "./admission.ts"
import type { AdmissionMetrics } from "./admission-metrics.ts"

/** Measures how long all plugins together take. */
export const measuredAdmission = (admission: Admission, metrics: AdmissionMetrics): Admission => ({
  ...admission,
  admit: measured("admit", (attributes) => admission.admit(attributes), metrics),
  validate: measured("validate", (attributes) => admission.validate(attributes), metrics),
})

function measured<T>(
  type: "admit" | "validate",
  ask: (attributes: AdmissionAttributes) => T | Promise<T>,
  metrics: AdmissionMetrics,
): (attributes: AdmissionAttributes) => T | Promise<T> {
  const byOperation = {
    CREATE: metrics.all(type, "CREATE"),
    UPDATE: metrics.all(type, "UPDATE"),
    DELETE: metrics.all(type, "DELETE"),
    CONNECT: metrics.all(type, "CONNECT"),
  }
  return (attributes) => {
    const laps = metrics.laps()
    const durations = byOperation[attributes.operation]
    const refuse = (err: unknown): never => {
      laps.refused(durations)
      throw err
    }
    let answer: T | Promise<T>
    try {
      answer = ask(attributes)
    } catch (err) {
      return refuse(err)
    }
    if (!isPending(answer)) {
      laps.passed(durations)
      return answer
    }
    return answer.then((value) => {
      laps.passed(durations)
      return value
    }, refuse)
  }
}
