import { describe, expect, test } from "bun:test"
import type { MetricSpec } from "../../../pkg/api/autoscaling/v2/metrics.ts"
import { look, type Given } from "./looks.fixtures.ts"

/**
 * One look of an autoscaler, its conditions and Events: cases of the kind that
 * pkg/controller/podautoscaler/horizontal_test.go asks. What replicas a metric proposes, and what rules leave of that,
 * is in replicas.test.ts and limits.test.ts.
 */

const spec = (metric: object): MetricSpec => metric as unknown as MetricSpec
const CPU = (averageUtilization: number) =>
  spec({ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization } } })
const CONTAINER_CPU = (averageUtilization: number) =>
  spec({
    type: "ContainerResource",
    containerResource: { name: "cpu", container: "main", target: { type: "Utilization", averageUtilization } },
  })
const PODS = (averageValue: string) =>
  spec({ type: "Pods", pods: { metric: { name: "qps" }, target: { type: "AverageValue", averageValue } } })
const describedObject = { apiVersion: "apps/v1", kind: "Deployment", name: "some" }
const OBJECT = (value: string) =>
  spec({ type: "Object", object: { describedObject, metric: { name: "qps" }, target: { type: "Value", value } } })
const OBJECT_SHARE = (averageValue: string) =>
  spec({
    type: "Object",
    object: { describedObject, metric: { name: "qps" }, target: { type: "AverageValue", averageValue } },
  })
const EXTERNAL = (value: string) =>
  spec({ type: "External", external: { metric: { name: "qps", selector: {} }, target: { type: "Value", value } } })
const EXTERNAL_SHARE = (averageValue: string) =>
  spec({
    type: "External",
    external: { metric: { name: "qps", selector: {} }, target: { type: "AverageValue", averageValue } },
  })
const UNKNOWN = spec({ type: "CheddarCheese" })

const RESCALED = ["AbleToScale=True SucceededRescale"]
const FOUND = "ScalingActive=True ValidMetricFound"
const WITHIN = "ScalingLimited=False DesiredWithinRange"
const SCALED = [...RESCALED, FOUND, WITHIN]
const STAYED = ["AbleToScale=True ReadyForNewScale", FOUND, WITHIN]
const STUCK = (reason: string) => ["AbleToScale=True SucceededGetScale", `ScalingActive=False ${reason}`]

interface Row extends Given {
  readonly title: string
  readonly wants: number
  readonly told?: readonly string[]
}

const three = { replicas: 3, least: 2, most: 6 }
const five = { replicas: 5, least: 2, most: 6, looks: 2 }

describe("an autoscaler that wants more", () => {
  test.each<Row>([
    { ...three, title: "scales by CPU", metrics: [CPU(30)], cpu: [300, 500, 700], wants: 5 },
    { ...three, title: "scales by a container's CPU", metrics: [CONTAINER_CPU(30)], cpu: [300, 500, 700], wants: 5 },
    {
      ...three,
      title: "scales a ReplicaSet",
      kind: "ReplicaSet",
      metrics: [CPU(30)],
      cpu: [300, 500, 700],
      wants: 5,
    },
    {
      ...three,
      title: "scales a ReplicationController",
      kind: "ReplicationController",
      metrics: [CPU(30)],
      cpu: [300, 500, 700],
      wants: 5,
    },
    {
      ...three,
      title: "scales by less where a pod is not ready",
      pods: "unready up up",
      metrics: [CPU(30)],
      cpu: [300, 500, 700],
      wants: 4,
    },
    {
      ...three,
      title: "scales by less where a pod starts",
      pods: "new up up",
      metrics: [CPU(30)],
      cpu: [300, 500, 700],
      wants: 4,
    },
    {
      ...three,
      title: "does not scale where most are not ready",
      pods: "up unready unready",
      metrics: [CPU(30)],
      cpu: [400, 500, 700],
      wants: 3,
      told: STAYED,
    },
    {
      ...three,
      title: "does not scale where most start",
      pods: "up new new",
      metrics: [CPU(30)],
      cpu: [400, 500, 700],
      wants: 3,
      told: STAYED,
    },
    {
      ...three,
      title: "does not count failed pods",
      replicas: 2,
      pods: "up up failed failed",
      metrics: [CPU(30)],
      cpu: [500, 700],
      wants: 4,
    },
    {
      ...three,
      title: "does not count pods that end",
      replicas: 2,
      pods: "up up deleted deleted",
      metrics: [CPU(30)],
      cpu: [500, 700],
      wants: 4,
    },
    { ...three, title: "scales by a metric of pods", metrics: [PODS("15")], says: [20_000, 10_000, 30_000], wants: 4 },
    {
      ...three,
      title: "takes a metric of a pod that starts as it is",
      pods: "up up new",
      metrics: [PODS("15")],
      says: [50_000, 10_000, 30_000],
      wants: 6,
    },
    {
      ...three,
      title: "goes to its most",
      pods: "unready up new",
      metrics: [PODS("15")],
      says: [50_000, 15_000, 30_000],
      wants: 6,
      told: [...RESCALED, FOUND, "ScalingLimited=True TooManyReplicas"],
    },
    { ...three, title: "scales by a value of an object", metrics: [OBJECT("15")], says: [20_000], wants: 4 },
    { ...three, title: "shares a value of an object", metrics: [OBJECT_SHARE("10")], says: [40_000], wants: 4 },
    { ...three, title: "scales by a value from outside", metrics: [EXTERNAL("6666m")], says: [8600], wants: 4 },
    { ...three, title: "shares a value from outside", metrics: [EXTERNAL_SHARE("2222m")], says: [8600], wants: 4 },
    { ...three, title: "adds up values from outside", metrics: [EXTERNAL("6")], says: [4000, 4000], wants: 4 },
    {
      ...three,
      title: "takes the metric that asks for most",
      most: 9,
      metrics: [PODS("15"), CPU(10)],
      cpu: [200, 200, 200],
      says: [20_000, 10_000, 30_000],
      wants: 6,
    },
    {
      ...three,
      title: "follows one metric where another is unknown",
      metrics: [UNKNOWN, CPU(30)],
      cpu: [300, 400, 500],
      wants: 4,
    },
    {
      ...three,
      title: "follows one metric where another fails",
      fails: "external",
      metrics: [EXTERNAL("100m"), CPU(30)],
      cpu: [300, 400, 500],
      wants: 4,
    },
    {
      ...three,
      title: "goes to its most, however much is asked for",
      most: 5,
      requests: [900, 1000, 1100],
      metrics: [CPU(90)],
      cpu: [8000, 9500, 1000],
      wants: 5,
      told: [...RESCALED, FOUND, "ScalingLimited=True TooManyReplicas"],
    },
    {
      ...three,
      title: "counts no metrics of others' pods",
      replicas: 4,
      metrics: [CPU(100)],
      cpu: [4000, 9500, 3000, 7000, 3200, 2000],
      wants: 6,
      told: [...RESCALED, FOUND, "ScalingLimited=True TooManyReplicas"],
    },
    {
      title: "goes as far as its rules let it",
      replicas: 3,
      least: 1,
      most: 100,
      requests: [100, 100, 100],
      up: { policies: [{ type: "Percent", value: 700, periodSeconds: 60 }] },
      metrics: [CPU(10)],
      cpu: [100, 200, 300],
      wants: 24,
      told: [...RESCALED, FOUND, "ScalingLimited=True ScaleUpLimit"],
    },
    {
      title: "goes no further than its most, whatever its rules",
      replicas: 3,
      least: 1,
      most: 20,
      requests: [100, 100, 100],
      up: { policies: [{ type: "Percent", value: 700, periodSeconds: 60 }] },
      metrics: [CPU(10)],
      cpu: [100, 200, 300],
      wants: 20,
      told: [...RESCALED, FOUND, "ScalingLimited=True TooManyReplicas"],
    },
    {
      title: "scales by a tolerance of its own",
      replicas: 3,
      least: 1,
      most: 5,
      requests: [900, 1000, 1100],
      up: { tolerance: "0.01" },
      metrics: [CPU(100)],
      cpu: [1010, 1030, 1020],
      wants: 4,
    },
    {
      ...three,
      title: "tries again where somebody else has written the scale",
      fails: "conflict",
      metrics: [CPU(50)],
      cpu: [600, 700, 800],
      wants: 5,
    },
  ])("$title", async ({ wants, told = wants === 3 ? STAYED : SCALED, ...given }) => {
    const { replicas, conditions } = await look(given)
    expect({ replicas, conditions }).toEqual({ replicas: wants, conditions: [...told] })
  })
})

describe("an autoscaler that wants less", () => {
  test.each<Row>([
    { ...five, title: "scales by CPU", metrics: [CPU(50)], cpu: [100, 300, 500, 250, 250], wants: 3 },
    {
      ...five,
      title: "scales by a container's",
      metrics: [CONTAINER_CPU(50)],
      cpu: [100, 300, 500, 250, 250],
      wants: 3,
    },
    {
      ...five,
      title: "scales by rules for the other direction",
      up: { policies: [{ type: "Percent", value: 100, periodSeconds: 15 }], stabilizationWindowSeconds: 30 },
      metrics: [CPU(50)],
      cpu: [100, 300, 500, 250, 250],
      wants: 3,
    },
    {
      ...five,
      title: "waits for five minutes",
      looks: 1,
      metrics: [CPU(50)],
      cpu: [100, 300, 500, 250, 250],
      wants: 5,
      told: ["AbleToScale=True ScaleDownStabilized", FOUND, WITHIN],
    },
    {
      ...five,
      title: "does not count pods that are not ready",
      pods: "up up up unready unready",
      metrics: [CPU(50)],
      cpu: [100, 300, 500, 250, 250],
      wants: 2,
    },
    {
      ...five,
      title: "does not count pods that start",
      pods: "up up up new new",
      metrics: [CPU(50)],
      cpu: [100, 300, 500, 250, 250],
      wants: 2,
    },
    {
      ...five,
      title: "does not count failed pods",
      pods: "up up up up up failed failed",
      metrics: [CPU(50)],
      cpu: [100, 300, 500, 250, 250],
      wants: 3,
    },
    {
      ...five,
      title: "does not count pods that end",
      pods: "up up up up up deleted deleted",
      metrics: [CPU(50)],
      cpu: [100, 300, 500, 250, 250],
      wants: 3,
    },
    { ...five, title: "scales by pods", metrics: [PODS("20")], says: Array(5).fill(12_000) as number[], wants: 3 },
    { ...five, title: "scales by a value of an object", metrics: [OBJECT("20")], says: [12_000], wants: 3 },
    { ...five, title: "shares a value of an object", metrics: [OBJECT_SHARE("20")], says: [60_000], wants: 3 },
    { ...five, title: "scales by a value from outside", metrics: [EXTERNAL("14400m")], says: [8600], wants: 3 },
    { ...five, title: "shares a value from outside", metrics: [EXTERNAL_SHARE("3")], says: [8600], wants: 3 },
    { ...five, title: "goes to zero where it may", least: 0, metrics: [OBJECT("20")], says: [0], wants: 0 },
    {
      title: "keeps its least",
      replicas: 3,
      least: 2,
      most: 5,
      looks: 2,
      requests: [900, 1000, 1100],
      metrics: [CPU(90)],
      cpu: [10, 95, 10],
      wants: 2,
      told: [...RESCALED, FOUND, "ScalingLimited=True TooFewReplicas"],
    },
    {
      title: "keeps its least where nothing is used",
      replicas: 3,
      least: 2,
      most: 5,
      looks: 2,
      metrics: [CPU(90)],
      cpu: [0, 0, 0],
      wants: 2,
      told: [...RESCALED, FOUND, "ScalingLimited=True TooFewReplicas"],
    },
    {
      title: "takes silent pods for busy",
      replicas: 4,
      least: 2,
      most: 6,
      looks: 2,
      metrics: [CPU(100)],
      cpu: [400, 95],
      wants: 3,
    },
    {
      title: "counts the pods that are there",
      replicas: 4,
      least: 1,
      most: 5,
      looks: 2,
      pods: "up",
      requests: [200],
      metrics: [CPU(50)],
      cpu: [200],
      wants: 2,
    },
    {
      title: "stays by a tolerance of its own",
      replicas: 3,
      least: 1,
      most: 5,
      looks: 2,
      down: { tolerance: "0.9" },
      metrics: [CPU(100)],
      cpu: [300, 300, 300],
      wants: 3,
      told: STAYED,
    },
    {
      ...five,
      title: "stays where one metric is unknown",
      metrics: [UNKNOWN, CPU(50)],
      cpu: [100, 300, 500, 250, 250],
      wants: 5,
      told: STUCK("InvalidMetricSourceType"),
    },
    {
      ...five,
      title: "stays where one metric fails",
      fails: "external",
      metrics: [EXTERNAL("1"), CPU(50)],
      cpu: [100, 300, 500, 250, 250],
      wants: 5,
      told: STUCK("FailedGetExternalMetric"),
    },
  ])("$title", async ({ wants, told = SCALED, ...given }) => {
    const { replicas, conditions } = await look(given)
    expect({ replicas, conditions }).toEqual({ replicas: wants, conditions: [...told] })
  })
})

describe("an autoscaler", () => {
  test.each<Row>([
    {
      title: "stays about its target",
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
      title: "stays about its target of pods",
      replicas: 3,
      least: 1,
      most: 5,
      metrics: [PODS("20")],
      says: [20_000, 20_001, 21_000],
      wants: 3,
      told: STAYED,
    },
    {
      title: "stays about its target of an object",
      replicas: 3,
      least: 1,
      most: 5,
      metrics: [OBJECT("20")],
      says: [20_050],
      wants: 3,
      told: STAYED,
    },
    {
      title: "stays about its share of an object",
      replicas: 4,
      least: 2,
      most: 6,
      metrics: [OBJECT_SHARE("2200m")],
      says: [8600],
      wants: 4,
      told: STAYED,
    },
    {
      title: "stays about its target from outside",
      replicas: 4,
      least: 2,
      most: 6,
      metrics: [EXTERNAL("8666m")],
      says: [8600],
      wants: 4,
      told: STAYED,
    },
    {
      title: "stays about its share from outside",
      replicas: 4,
      least: 2,
      most: 6,
      metrics: [EXTERNAL_SHARE("2200m")],
      says: [8600],
      wants: 4,
      told: STAYED,
    },
    {
      title: "counts the replicas that are wanted, not those of a rollout",
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
      title: "leaves alone what is scaled to zero",
      replicas: 0,
      least: 3,
      most: 5,
      metrics: [CPU(90)],
      wants: 0,
      told: STUCK("ScalingDisabled"),
    },
    {
      title: "leaves alone what somebody else scaled to zero, though it may",
      replicas: 0,
      least: 0,
      most: 6,
      metrics: [OBJECT("15")],
      says: [20_000],
      wants: 0,
      told: STUCK("ScalingDisabled"),
    },
    {
      title: "drops a condition of a feature that is off when it scales",
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
      title: "brings a workload up into its bounds",
      replicas: 2,
      least: 3,
      most: 5,
      metrics: [CPU(90)],
      wants: 3,
      told: RESCALED,
    },
    {
      title: "brings a workload down into its bounds",
      replicas: 10,
      least: 3,
      most: 5,
      metrics: [CPU(90)],
      wants: 5,
      told: RESCALED,
    },
    {
      title: "has a least of one unless told",
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
      title: "says that there are no metrics",
      metrics: [CPU(100)],
      wants: 3,
      told: STUCK("FailedGetResourceMetric"),
    },
    {
      ...three,
      title: "says that a pod requests nothing",
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
      title: "says that the workload tells of no pods",
      selector: "",
      metrics: [CPU(10)],
      cpu: [100, 200, 300],
      wants: 3,
      told: STUCK("InvalidSelector"),
    },
    {
      ...three,
      title: "says that the workload's selector is none",
      selector: "cheddar cheese",
      metrics: [CPU(10)],
      cpu: [100, 200, 300],
      wants: 3,
      told: STUCK("InvalidSelector"),
    },
    {
      ...three,
      title: "says that it cannot read the scale",
      fails: "get scale",
      metrics: [CPU(10)],
      wants: 3,
      told: ["AbleToScale=False FailedGetScale"],
    },
    {
      ...three,
      title: "says that it cannot write the scale",
      fails: "update scale",
      metrics: [CPU(30)],
      cpu: [300, 500, 700],
      wants: 3,
      told: ["AbleToScale=False FailedUpdateScale", FOUND, WITHIN],
    },
    {
      ...three,
      title: "is not troubled by another with other pods",
      other: "cheddar=cheese",
      metrics: [CPU(30)],
      cpu: [300, 500, 700],
      wants: 5,
      told: SCALED,
    },
    {
      ...three,
      title: "leaves pods alone that another scales",
      other: "app=web",
      metrics: [CPU(30)],
      cpu: [300, 500, 700],
      wants: 3,
      told: STUCK("AmbiguousSelector"),
    },
    {
      ...three,
      title: "leaves pods alone that another scales by another label",
      other: "cheddar in (cheese)",
      labels: { cheddar: "cheese" },
      metrics: [CPU(30)],
      cpu: [300, 500, 700],
      wants: 3,
      told: STUCK("AmbiguousSelector"),
    },
  ])("$title", async ({ wants, told = SCALED, ...given }) => {
    const { replicas, conditions } = await look(given)
    expect({ replicas, conditions }).toEqual({ replicas: wants, conditions: [...told] })
  })
})

describe("Events and status say", () => {
  test.each<{ title: string; given: Given; wants: readonly string[] }>([
    {
      title: "what was done and why",
      given: { replicas: 1, most: 5, requests: [200], metrics: [CPU(50)], cpu: [200] },
      wants: ["SuccessfulRescale: New size: 2; reason: cpu resource utilization (percentage of request) above target"],
    },
    {
      title: "nothing where nothing was done",
      given: { replicas: 2, most: 5, requests: [400, 400], metrics: [CPU(50)], cpu: [200, 200] },
      wants: [],
    },
    {
      title: "that all metrics are low",
      given: { ...five, metrics: [CPU(50)], cpu: [100, 300, 500, 250, 250] },
      wants: ["SuccessfulRescale: New size: 3; reason: All metrics below target"],
    },
    {
      title: "which value from outside, with its selector",
      given: { ...three, metrics: [EXTERNAL("6666m")], says: [8600] },
      wants: [
        "SuccessfulRescale: New size: 4; reason: external metric qps(&LabelSelector{MatchLabels:map[string]string{}," +
          "MatchExpressions:[]LabelSelectorRequirement{},}) above target",
      ],
    },
    {
      title: "which value of an object",
      given: { ...three, metrics: [OBJECT("15")], says: [20_000] },
      wants: ["SuccessfulRescale: New size: 4; reason: Deployment metric qps above target"],
    },
    {
      title: "what was to be done and could not",
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
      title: "who else scales its pods",
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
    expect((await look(given)).events).toEqual([...wants])
  })

  test("what each metric said, in the units of its resource", async () => {
    const { status } = await look({ ...three, metrics: [PODS("15"), CPU(30)], cpu: [300, 500, 700], says: [15_000] })
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

  test("what could be said where pods have not been counted yet", async () => {
    const { status } = await look({ ...three, counted: 0, metrics: [EXTERNAL_SHARE("2")], says: [9000] })
    expect(status).toMatchObject({
      desiredReplicas: 5,
      currentMetrics: [{ external: { current: { averageValue: "9" } } }],
    })
  })

  test("nothing new where nothing has changed", async () => {
    const given = { replicas: 2, most: 5, requests: [400, 400], metrics: [CPU(50)], cpu: [200, 200] }
    const { status: first } = await look(given)
    const { status: second } = await look({ ...given, looks: 2 })
    expect(second).toEqual(first)
  })
})
