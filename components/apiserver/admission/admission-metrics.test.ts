import { expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { forbidden } from "../../../pkg/apimachinery/errors.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { chainOf, type AdmissionAttributes, type AdmissionPlugin } from "./admission.ts"
import { admissionMetrics } from "./admission-metrics.ts"
import { measuredAdmission } from "./measured-admission.ts"

const OF_ONE = "apiserver_admission_controller_admission_duration_seconds"
const OF_ALL = "apiserver_admission_step_admission_duration_seconds"

test("each plugin has the time that it took itself, whether it answers at once or later, and refuses or not", async () => {
  // given
  let ms = 0
  const took = (time: number): undefined => {
    ms += time
  }
  const refusal = forbidden(Pod, "p", "no")
  let isRefused = false
  const plugins: readonly AdmissionPlugin[] = [
    { name: "Quick", operations: ["CREATE"], admit: () => took(10), validate: () => took(1) },
    {
      name: "Slow",
      operations: ["CREATE"],
      async admit() {
        await Promise.resolve()
        took(200)
        return undefined
      },
      async validate() {
        await Promise.resolve()
        took(400)
        if (isRefused) throw refusal
      },
    },
    {
      name: "Last",
      operations: ["CREATE"],
      admit: () => took(3),
      validate() {
        took(20)
        throw refusal
      },
    },
  ]
  const registry = new Registry()
  const metrics = admissionMetrics(registry, { monotonic: () => ms })
  const chain = measuredAdmission(chainOf(plugins, metrics), metrics)
  const attributes = { operation: "CREATE", resource: Pod } as unknown as AdmissionAttributes
  // when
  await chain.admit(attributes)
  const first = await Promise.resolve(chain.validate(attributes)).catch((err: unknown) => err)
  isRefused = true
  const second = await Promise.resolve(chain.validate(attributes)).catch((err: unknown) => err)
  // then
  expect([first, second]).toEqual([refusal, refusal])
  const values = (name: string) =>
    Object.fromEntries(
      registry
        .text(name)
        .split("\n")
        .filter((line) => line.startsWith(`${name}_sum`) || line.startsWith(`${name}_count`))
        .map((line) => line.slice(name.length + 1).split(" ")),
    )
  const of = (name: string, type: string, rejected: boolean) =>
    `{name="${name}",type="${type}",operation="CREATE",rejected="${rejected}"}`
  expect(values(OF_ONE)).toEqual({
    [`sum${of("Quick", "admit", false)}`]: "0.01",
    [`count${of("Quick", "admit", false)}`]: "1",
    [`sum${of("Slow", "admit", false)}`]: "0.2",
    [`count${of("Slow", "admit", false)}`]: "1",
    [`sum${of("Last", "admit", false)}`]: "0.003",
    [`count${of("Last", "admit", false)}`]: "1",
    [`sum${of("Quick", "validate", false)}`]: "0.002",
    [`count${of("Quick", "validate", false)}`]: "2",
    [`sum${of("Slow", "validate", false)}`]: "0.4",
    [`count${of("Slow", "validate", false)}`]: "1",
    [`sum${of("Slow", "validate", true)}`]: "0.4",
    [`count${of("Slow", "validate", true)}`]: "1",
    [`sum${of("Last", "validate", true)}`]: "0.02",
    [`count${of("Last", "validate", true)}`]: "1",
  })
  expect(values(OF_ALL)).toEqual({
    'sum{type="admit",operation="CREATE",rejected="false"}': "0.213",
    'count{type="admit",operation="CREATE",rejected="false"}': "1",
    'sum{type="validate",operation="CREATE",rejected="true"}': "0.8220000000000001",
    'count{type="validate",operation="CREATE",rejected="true"}': "2",
  })
})
