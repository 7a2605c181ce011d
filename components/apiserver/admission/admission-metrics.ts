import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Distribution, Registry } from "../../../pkg/metrics/registry.ts"
import { isPending } from "../call/maybe-promise.ts"
import type { Operation } from "../webhooks/review.ts"
import type { Admission, AdmissionPlugin } from "./admission.ts"

type Type = "admit" | "validate"

/** Source: apiserver pkg/admission/metrics/metrics.go latencyBuckets. */
const BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5]

/** Measures admission plugins, each and all together. */
export interface AdmissionMetrics {
  plugin(plugin: AdmissionPlugin): AdmissionPlugin
  all(admission: Admission): Admission
}

export function admissionMetrics(registry: Registry, clock: Pick<Clock, "monotonic">): AdmissionMetrics {
  const controllers = registry.histogram(
    "apiserver_admission_controller_admission_duration_seconds",
    "Seconds that an admission plugin took, by its name, the operation, and whether it refused.",
    BUCKETS,
    "name",
    "type",
    "operation",
    "rejected",
  )
  const steps = registry.histogram(
    "apiserver_admission_step_admission_duration_seconds",
    "Seconds that all admission plugins took, by the operation, and whether one refused.",
    BUCKETS,
    "type",
    "operation",
    "rejected",
  )
  /** Returns what observes the durations of one function, whose series are looked up once. */
  const observer = (of: (operation: Operation, rejected: string) => Distribution) => {
    const [passed, refused] = [new Map<Operation, Distribution>(), new Map<Operation, Distribution>()]
    return (operation: Operation, rejected: boolean, began: number) => {
      const known = rejected ? refused : passed
      let series = known.get(operation)
      if (series === undefined) known.set(operation, (series = of(operation, String(rejected))))
      series.observe((clock.monotonic() - began) / 1000)
    }
  }
  type Asked = { readonly operation: Operation }
  const measured = <A extends Asked, T>(
    ask: (attributes: A) => T | Promise<T>,
    observe: ReturnType<typeof observer>,
  ): ((attributes: A) => T | Promise<T>) => {
    return (attributes) => {
      const began = clock.monotonic()
      const { operation } = attributes
      let answer: T | Promise<T>
      try {
        answer = ask(attributes)
      } catch (err) {
        observe(operation, true, began)
        throw err
      }
      if (!isPending(answer)) {
        observe(operation, false, began)
        return answer
      }
      return answer.then(
        (value) => {
          observe(operation, false, began)
          return value
        },
        (err: unknown) => {
          observe(operation, true, began)
          throw err
        },
      )
    }
  }
  const ofPlugin = (name: string, type: Type) =>
    observer((operation, rejected) => controllers.with(name, type, operation, rejected))
  const ofAll = (type: Type) => observer((operation, rejected) => steps.with(type, operation, rejected))
  return {
    plugin: (plugin) => ({
      ...plugin,
      ...(plugin.admit === undefined
        ? {}
        : { admit: measured(plugin.admit.bind(plugin), ofPlugin(plugin.name, "admit")) }),
      ...(plugin.validate === undefined
        ? {}
        : { validate: measured(plugin.validate.bind(plugin), ofPlugin(plugin.name, "validate")) }),
    }),
    all: (admission) => ({
      ...admission,
      admit: measured((attributes) => admission.admit(attributes), ofAll("admit")),
      validate: measured((attributes) => admission.validate(attributes), ofAll("validate")),
    }),
  }
}
