import { describe, expect, test } from "bun:test"
import { check, type Given } from "./reconciliations.fixtures.ts"
import { CPU, EXTERNAL, OBJECT } from "./metric-specs.fixtures.ts"

/** The condition of an autoscaler that has scaled its workload to none. */
const conditions = [{ type: "ScaledToZero", status: "True", reason: "ScaledToZero" }]
const TO_ZERO = "ScaledToZero=True ScaledToZero"
const NOT_TO_ZERO = "ScaledToZero=False NotScaledToZero"
const DISABLED = "ScalingActive=False ScalingDisabled"

/** Source of the cases: pkg/controller/podautoscaler/horizontal_test.go, those with HPAScaleToZero. */
describe("with HPAScaleToZero an autoscaler", () => {
  test.each<Given & { readonly title: string; readonly wants: number; readonly told: string }>([
    {
      title: "scales to none when nothing is left to do",
      ...{ replicas: 1, least: 0, most: 6, metrics: [EXTERNAL("2")], says: [0], looks: 2 },
      wants: 0,
      told: TO_ZERO,
    },
    {
      title: "scales from none when something comes",
      ...{ replicas: 0, least: 0, most: 6, metrics: [EXTERNAL("2")], says: [5000], conditions },
      wants: 3,
      told: NOT_TO_ZERO,
    },
    {
      title: "scales from none by a metric of an object",
      ...{ replicas: 0, least: 0, most: 6, metrics: [OBJECT("15")], says: [20_000], conditions },
      wants: 2,
      told: NOT_TO_ZERO,
    },
    {
      title: "stays at none while there is nothing to do",
      ...{ replicas: 0, least: 0, most: 6, metrics: [EXTERNAL("2")], says: [0], conditions },
      wants: 0,
      told: TO_ZERO,
    },
    {
      title: "scales to minReplicas when that was raised while there were none",
      ...{ replicas: 0, least: 2, most: 6, metrics: [EXTERNAL("2")], says: [1000], conditions },
      wants: 2,
      told: NOT_TO_ZERO,
    },
    {
      title: "leaves a workload alone that a user has scaled to none",
      ...{ replicas: 0, least: 0, most: 6, metrics: [EXTERNAL("2")], says: [5000] },
      wants: 0,
      told: DISABLED,
    },
    {
      title: "does not wake a workload whose only metric is that of its pods",
      ...{ replicas: 0, least: 0, most: 6, metrics: [CPU(50)], conditions },
      wants: 0,
      told: DISABLED,
    },
  ])("$title", async ({ wants, told, title: _title, ...given }) => {
    const seen = await check({ ...given, toZero: true })
    expect(seen.replicas).toBe(wants)
    expect(seen.conditions).toContain(told)
  })
})
