import { describe, expect, test } from "bun:test"
import { decodeObject } from "../../../apimachinery/decoding/decode.ts"
import { HorizontalPodAutoscaler as V2 } from "../v2/horizontalpodautoscaler.ts"
import { HorizontalPodAutoscaler } from "./horizontalpodautoscaler.ts"

const decodedV2 = (spec: object, status: object = {}) =>
  decodeObject(V2, { metadata: { name: "h", annotations: { kept: "x" } }, spec, status }, {}).object
const decodedV1 = (annotations: object, spec: object = {}, status: object = {}) =>
  decodeObject(
    HorizontalPodAutoscaler,
    { metadata: { name: "h", annotations }, spec: { scaleTargetRef, maxReplicas: 3, ...spec }, status } as never,
    {},
  ).object
const scaleTargetRef = { kind: "Deployment", name: "d", apiVersion: "apps/v1" }
const metric = { name: "m", selector: { matchLabels: { b: "<1", a: "2" } } }
const { toStored, fromStored } = HorizontalPodAutoscaler.storedAs!
const ANNOTATION = "autoscaling.alpha.kubernetes.io/"

describe("an autoscaling/v2 object read as v1", () => {
  const autoscaler = decodedV2(
    {
      scaleTargetRef,
      maxReplicas: 3,
      metrics: [
        { type: "Pods", pods: { metric, target: { type: "AverageValue", averageValue: "5" } } },
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } },
        {
          type: "Object",
          object: { describedObject: { kind: "Ingress", name: "i" }, metric, target: { type: "Value", value: "10" } },
        },
        { type: "External", external: { metric, target: { type: "AverageValue", averageValue: "1500m" } } },
        {
          type: "ContainerResource",
          containerResource: { name: "cpu", container: "c", target: { type: "Utilization", averageUtilization: 5 } },
        },
      ],
      behavior: { scaleDown: { policies: [{ type: "Pods", value: 1, periodSeconds: 3 }], tolerance: "10m" } },
    },
    {
      currentReplicas: 1,
      desiredReplicas: 2,
      currentMetrics: [
        { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 70, averageValue: "70m" } } },
        { type: "Pods", pods: { metric, current: { averageValue: "6" } } },
      ],
      conditions: [{ type: "AbleToScale", status: "True", lastTransitionTime: null, reason: "R" }],
    },
  )

  test("has the CPU utilization in fields, and all other metrics in annotations as Kubernetes writes them", () => {
    const { metadata, spec, status } = fromStored(autoscaler)
    expect(spec).toEqual({ scaleTargetRef, minReplicas: 1, maxReplicas: 3, targetCPUUtilizationPercentage: 60 })
    expect(status).toEqual({ currentReplicas: 1, desiredReplicas: 2, currentCPUUtilizationPercentage: 70 })
    expect(metadata.annotations).toEqual({
      kept: "x",
      [`${ANNOTATION}metrics`]:
        '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"5","selector":{"matchLabels":{"a":"2","b":"\\u003c1"}}}},' +
        '{"type":"Object","object":{"target":{"kind":"Ingress","name":"i"},"metricName":"m","targetValue":"10",' +
        '"selector":{"matchLabels":{"a":"2","b":"\\u003c1"}}}},' +
        '{"type":"External","external":{"metricName":"m","metricSelector":{"matchLabels":{"a":"2","b":"\\u003c1"}},"targetAverageValue":"1500m"}},' +
        '{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":5,"container":"c"}}]',
      [`${ANNOTATION}behavior`]:
        '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15},' +
        '{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds":null,' +
        '"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":3}],"Tolerance":"10m"}}',
      [`${ANNOTATION}current-metrics`]:
        '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":70,"currentAverageValue":"70m"}},' +
        '{"type":"Pods","pods":{"metricName":"m","currentAverageValue":"6","selector":{"matchLabels":{"a":"2","b":"\\u003c1"}}}}]',
      [`${ANNOTATION}conditions`]: '[{"type":"AbleToScale","status":"True","lastTransitionTime":null,"reason":"R"}]',
    })
  })

  test("is the same after conversion back, except that the CPU metric comes last", () => {
    const again = toStored(fromStored(autoscaler)) as typeof autoscaler
    const [pods, cpu, ...others] = autoscaler.spec.metrics!
    expect(again).toEqual({ ...autoscaler, spec: { ...autoscaler.spec, metrics: [pods!, ...others, cpu!] } })
  })
})

describe("an autoscaling/v1 object", () => {
  test.each([
    { title: "without a metric gets a target of 80 % CPU", annotations: {}, wants: 80 },
    {
      title: "whose metrics cannot be parsed gets the target too",
      annotations: { [`${ANNOTATION}metrics`]: "[{" },
      wants: 80,
    },
    {
      title: "whose metrics have a wrong type gets the target too",
      annotations: { [`${ANNOTATION}metrics`]: '[{"type":1}]' },
      wants: 80,
    },
    {
      title: "with another metric does not get the target",
      annotations: { [`${ANNOTATION}metrics`]: '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1"}}]' },
      wants: undefined,
    },
  ])("$title", ({ annotations, wants }) => {
    expect(decodedV1(annotations).spec.targetCPUUtilizationPercentage).toBe(wants)
  })

  test("keeps its status when the spec is written, whatever the annotations are", () => {
    // given an autoscaler with a status that stands in annotations
    const condition = (status: string) => ({
      [`${ANNOTATION}conditions`]: `[{"type":"AbleToScale","status":"${status}","lastTransitionTime":null}]`,
    })
    const old = decodedV1(condition("True"))
    const context = { now: "2026-01-01T00:00:00Z", uuid: () => "u", warn: () => undefined }

    // when somebody writes the spec with another status, with none, or makes a new object with one
    const forged = HorizontalPodAutoscaler.prepareForUpdate!(decodedV1(condition("False")), old, context)
    const forgotten = HorizontalPodAutoscaler.prepareForUpdate!(decodedV1({}), old, context)
    const created = HorizontalPodAutoscaler.prepareForCreate!(decodedV1(condition("True")), context)

    // then it stays as it was
    expect(forged.metadata.annotations).toEqual(old.metadata.annotations)
    expect(forgotten.metadata.annotations).toEqual(old.metadata.annotations)
    expect(toStored(created)).not.toHaveProperty("status.conditions")
  })

  test("shows no number of replicas in v2 while none is known, as Go leaves out a zero there", () => {
    const stored = toStored(decodedV1({}))
    expect(stored).not.toHaveProperty("status.currentReplicas")
    expect(fromStored(stored as never)).toHaveProperty("status.currentReplicas", 0)
  })

  test("keeps its metrics when the status is written", () => {
    const old = decodedV1({
      [`${ANNOTATION}metrics`]: '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1"}}]',
    })
    const { status } = HorizontalPodAutoscaler.subresources!
    const written = (status as { prepareForUpdate: (a: object, b: object) => object }).prepareForUpdate(
      decodedV1({}),
      old,
    )
    expect(written).toHaveProperty("metadata.annotations", old.metadata.annotations)
  })
})
