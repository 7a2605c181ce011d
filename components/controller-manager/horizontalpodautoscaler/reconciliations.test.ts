import { describe, expect, test } from "bun:test"
import { check, type Given } from "./reconciliations.fixtures.ts"
import {
  CPU,
  CONTAINER_CPU,
  PODS,
  OBJECT,
  OBJECT_SHARE,
  EXTERNAL,
  EXTERNAL_SHARE,
  UNKNOWN,
  RESCALED,
  FOUND,
  WITHIN,
  SCALED,
  STAYED,
  STUCK,
  type Row,
  three,
  five,
} from "./metric-specs.fixtures.ts"

describe("an autoscaler", () => {
  test.each<Row>([
    {
      title: "does not scale within a tenth of the CPU target",
      replicas: 3,
      least: 1,
      most: 5,
      requests: [900, 1000, 1100],
      metrics: [CPU(100)],
      cpu: [1010, 1030, 1020],
      wants: 3,
      told: STAYED,
    },
    {
      title: "does not scale within a tenth of the target of a pods metric",
      replicas: 3,
      least: 1,
      most: 5,
      metrics: [PODS("20")],
      says: [20_000, 20_001, 21_000],
      wants: 3,
      told: STAYED,
    },
    {
      title: "does not scale within a tenth of the target of an object metric",
      replicas: 3,
      least: 1,
      most: 5,
      metrics: [OBJECT("20")],
      says: [20_050],
      wants: 3,
      told: STAYED,
    },
    {
      title: "does not scale within a tenth of the average of an object metric",
      replicas: 4,
      least: 2,
      most: 6,
      metrics: [OBJECT_SHARE("2200m")],
      says: [8600],
      wants: 4,
      told: STAYED,
    },
    {
      title: "does not scale within a tenth of the target of an external metric",
      replicas: 4,
      least: 2,
      most: 6,
      metrics: [EXTERNAL("8666m")],
      says: [8600],
      wants: 4,
      told: STAYED,
    },
    {
      title: "does not scale within a tenth of the average of an external metric",
      replicas: 4,
      least: 2,
      most: 6,
      metrics: [EXTERNAL_SHARE("2200m")],
      says: [8600],
      wants: 4,
      told: STAYED,
    },
    {
      title: "counts spec.replicas, not the additional pods of a rollout",
      replicas: 4,
      counted: 5,
      least: 1,
      most: 8,
      pods: "up up up up up",
      metrics: [CPU(50)],
      cpu: [500, 500, 500, 500, 500],
      wants: 4,
      told: STAYED,
    },
    {
      title: "ignores a workload that is scaled to 0",
      replicas: 0,
      least: 3,
      most: 5,
      metrics: [CPU(90)],
      wants: 0,
      told: STUCK("ScalingDisabled"),
    },
    {
      title: "ignores a workload that another client scaled to 0, although minReplicas is 0",
      replicas: 0,
      least: 0,
      most: 6,
      metrics: [OBJECT("15")],
      says: [20_000],
      wants: 0,
      told: STUCK("ScalingDisabled"),
    },
    {
      title: "removes the condition of a disabled feature when it scales",
      replicas: 3,
      least: 1,
      most: 6,
      metrics: [CPU(30)],
      cpu: [300, 500, 700],
      conditions: [{ type: "ScaledToZero", status: "True", reason: "ScaledToZero" }],
      wants: 5,
      told: SCALED,
    },
    {
      title: "scales a workload up to minReplicas",
      replicas: 2,
      least: 3,
      most: 5,
      metrics: [CPU(90)],
      wants: 3,
      told: RESCALED,
    },
    {
      title: "scales a workload down to maxReplicas",
      replicas: 10,
      least: 3,
      most: 5,
      metrics: [CPU(90)],
      wants: 5,
      told: RESCALED,
    },
    {
      title: "has 1 as the default of minReplicas",
      replicas: 3,
      most: 5,
      looks: 2,
      metrics: [CPU(90)],
      cpu: [0, 0, 0],
      wants: 1,
      told: [...RESCALED, FOUND, "ScalingLimited=True TooFewReplicas"],
    },
    {
      ...three,
      title: "reports missing metrics",
      metrics: [CPU(100)],
      wants: 3,
      told: STUCK("FailedGetResourceMetric"),
    },
    {
      ...three,
      title: "reports that a pod has no request of the resource",
      requests: [0, 0, 0],
      metrics: [CPU(100)],
      cpu: [200],
      wants: 3,
      told: STUCK("FailedGetResourceMetric"),
    },
    ...[
      { metric: CPU(10), reason: "FailedGetResourceMetric" },
      { metric: CONTAINER_CPU(10), reason: "FailedGetContainerResourceMetric" },
      { metric: PODS("15"), reason: "FailedGetPodsMetric" },
      { metric: OBJECT("15"), reason: "FailedGetObjectMetric" },
      { metric: EXTERNAL("300m"), reason: "FailedGetExternalMetric" },
      { metric: UNKNOWN, reason: "InvalidMetricSourceType" },
    ].map(({ metric, reason }): Row => ({
      ...three,
      title: `says that a metric fails: ${reason}`,
      fails: "metrics",
      metrics: [metric],
      wants: 3,
      told: STUCK(reason),
    })),
    {
      ...three,
      title: "reports that the scale has no selector",
      selector: "",
      metrics: [CPU(10)],
      cpu: [100, 200, 300],
      wants: 3,
      told: STUCK("InvalidSelector"),
    },
    {
      ...three,
      title: "reports that the selector of the scale is invalid",
      selector: "cheddar cheese",
      metrics: [CPU(10)],
      cpu: [100, 200, 300],
      wants: 3,
      told: STUCK("InvalidSelector"),
    },
    {
      ...three,
      title: "reports that it cannot read the scale",
      fails: "get scale",
      metrics: [CPU(10)],
      wants: 3,
      told: ["AbleToScale=False FailedGetScale"],
    },
    {
      ...three,
      title: "reports that it cannot write the scale",
      fails: "update scale",
      metrics: [CPU(30)],
      cpu: [300, 500, 700],
      wants: 3,
      told: ["AbleToScale=False FailedUpdateScale", FOUND, WITHIN],
    },
    {
      ...three,
      title: "scales although another autoscaler has other pods",
      other: "cheddar=cheese",
      metrics: [CPU(30)],
      cpu: [300, 500, 700],
      wants: 5,
      told: SCALED,
    },
    {
      ...three,
      title: "does not scale when another autoscaler selects the same pods",
      other: "app=web",
      metrics: [CPU(30)],
      cpu: [300, 500, 700],
      wants: 3,
      told: STUCK("AmbiguousSelector"),
    },
    {
      ...three,
      title: "does not scale when another autoscaler selects the same pods by another label",
      other: "cheddar in (cheese)",
      labels: { cheddar: "cheese" },
      metrics: [CPU(30)],
      cpu: [300, 500, 700],
      wants: 3,
      told: STUCK("AmbiguousSelector"),
    },
  ])("$title", async ({ wants, told = SCALED, ...given }) => {
    const { replicas, conditions } = await check(given)
    expect({ replicas, conditions }).toEqual({ replicas: wants, conditions: [...told] })
  })
})

describe("Events and status report", () => {
  test.each<{ title: string; given: Given; wants: readonly string[] }>([
    {
      title: "a rescale with its reason",
      given: { replicas: 1, most: 5, requests: [200], metrics: [CPU(50)], cpu: [200] },
      wants: ["SuccessfulRescale: New size: 2; reason: cpu resource utilization (percentage of request) above target"],
    },
    {
      title: "nothing if nothing was done",
      given: { replicas: 2, most: 5, requests: [400, 400], metrics: [CPU(50)], cpu: [200, 200] },
      wants: [],
    },
    {
      title: "that all metrics are below their targets",
      given: { ...five, metrics: [CPU(50)], cpu: [100, 300, 500, 250, 250] },
      wants: ["SuccessfulRescale: New size: 3; reason: All metrics below target"],
    },
    {
      title: "an external metric with its selector",
      given: { ...three, metrics: [EXTERNAL("6666m")], says: [8600] },
      wants: [
        "SuccessfulRescale: New size: 4; reason: external metric qps(&LabelSelector{MatchLabels:map[string]string{}," +
          "MatchExpressions:[]LabelSelectorRequirement{},}) above target",
      ],
    },
    {
      title: "an object metric",
      given: { ...three, metrics: [OBJECT("15")], says: [20_000] },
      wants: ["SuccessfulRescale: New size: 4; reason: Deployment metric qps above target"],
    },
    {
      title: "a rescale that failed",
      given: { ...three, fails: "update scale", metrics: [CPU(30)], cpu: [300, 500, 700] },
      wants: [
        "FailedRescale: New size: 5; reason: cpu resource utilization (percentage of request) above target; " +
          "error: something went wrong",
      ],
    },
    {
      title: "which metrics fail, and what follows",
      given: { ...three, metrics: [CPU(50), UNKNOWN] },
      wants: [
        "FailedGetResourceMetric: failed to get cpu utilization: unable to get metrics for resource cpu: " +
          "no metrics returned from resource metrics API",
        'InvalidMetricSourceType: unknown metric source type "CheddarCheese"',
        "FailedComputeMetricsReplicas: invalid metrics (2 invalid out of 2), first error is: " +
          "failed to get cpu resource metric value: failed to get cpu utilization: " +
          "unable to get metrics for resource cpu: no metrics returned from resource metrics API",
      ],
    },
    {
      title: "other autoscalers of the same pods",
      given: { ...three, other: "app=web", metrics: [CPU(30)], cpu: [300, 500, 700] },
      wants: [
        "AmbiguousSelector: pods by selector app=web are controlled by multiple HPAs: [{other default} {web default}]",
        "FailedComputeMetricsReplicas: pods by selector app=web are controlled by multiple HPAs: " +
          "[{other default} {web default}]",
      ],
    },
    {
      title: "that a selector is missing",
      given: { ...three, selector: "", metrics: [CPU(30)] },
      wants: ["SelectorRequired: selector is required", "FailedComputeMetricsReplicas: selector is required"],
    },
  ])("$title", async ({ given, wants }) => {
    expect((await check(given)).events).toEqual([...wants])
  })

  test("each metric in the unit of its resource", async () => {
    const { status } = await check({ ...three, metrics: [PODS("15"), CPU(30)], cpu: [300, 500, 700], says: [15_000] })
    expect(status).toMatchObject({
      currentReplicas: 3,
      desiredReplicas: 5,
      lastScaleTime: "2026-01-01T01:00:00Z",
      currentMetrics: [
        { type: "Pods", pods: { metric: { name: "qps" }, current: { averageValue: "15" } } },
        { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 50, averageValue: "500m" } } },
      ],
    })
  })

  test("metrics even if status.replicas is 0", async () => {
    const { status } = await check({ ...three, counted: 0, metrics: [EXTERNAL_SHARE("2")], says: [9000] })
    expect(status).toMatchObject({
      desiredReplicas: 5,
      currentMetrics: [{ external: { current: { averageValue: "9" } } }],
    })
  })

  test("no change if nothing has changed", async () => {
    const given = { replicas: 2, most: 5, requests: [400, 400], metrics: [CPU(50)], cpu: [200, 200] }
    const { status: first } = await check(given)
    const { status: second } = await check({ ...given, looks: 2 })
    expect(second).toEqual(first)
  })
})
