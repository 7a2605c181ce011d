import { decodeMessage } from "../../../apimachinery/decoding/decode.ts"
import { DecodeError } from "../../../apimachinery/decoding/decoder-cursor.ts"
import type { Message } from "../../../apimachinery/field-spec.ts"
import { plainForm } from "../../../apimachinery/go/go-form.ts"
import { isJsonObject } from "../../../apimachinery/json/json-value.ts"
import type { KubeObject } from "../../../apimachinery/resource.ts"
import { quantity } from "../../../apimachinery/scalars/quantity.ts"
import {
  BEHAVIOR_ANNOTATION,
  CONDITIONS_ANNOTATION,
  CURRENT_METRICS_ANNOTATION,
  METRICS_ANNOTATION,
  withoutConverted,
  type HorizontalPodAutoscaler as Autoscaler,
} from "../v2/horizontalpodautoscaler.ts"
import { DEFAULT_METRICS } from "../v2/horizontalpodautoscalerspec.ts"
import { HorizontalPodAutoscalerCondition } from "../v2/metric-status.ts"
import type * as V2Status from "../v2/metric-status.ts"
import {
  HorizontalPodAutoscalerBehavior,
  type HPAScalingRules,
  type MetricSpec as MetricSpecV2,
  type MetricTarget,
} from "../v2/metrics.ts"
import type { HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus } from "./horizontalpodautoscalerspec.ts"
import { MetricSpec, MetricStatus } from "./metrics.ts"

/**
 * Converts autoscalers between v1 and v2. autoscaling/v1 has fields for CPU usage only; everything else is in
 * annotations there. Invalid annotations are ignored. Source: pkg/apis/autoscaling/v1/conversion.go.
 */

/** An autoscaler in v1. */
interface AutoscalerV1 extends KubeObject {
  readonly spec: HorizontalPodAutoscalerSpec
  readonly status: HorizontalPodAutoscalerStatus
}

/** Returns the autoscaler in v2. Without any metric it gets the default metric; its behavior gets no defaults here. */
export function toV2(autoscaler: AutoscalerV1): Autoscaler {
  const { metadata, spec, status } = autoscaler
  const annotations = metadata.annotations ?? {}
  const { targetCPUUtilizationPercentage: percentage, ...restOfSpec } = spec
  const { currentCPUUtilizationPercentage: current, currentReplicas, ...restOfStatus } = status
  const metrics = [
    ...(listIn(annotations[METRICS_ANNOTATION], MetricSpec) ?? []).map(metricToV2),
    ...(percentage === undefined ? [] : [cpuMetric(percentage)]),
  ]
  const behavior = behaviorIn(annotations[BEHAVIOR_ANNOTATION])
  const conditions = listIn(annotations[CONDITIONS_ANNOTATION], HorizontalPodAutoscalerCondition)
  const currentMetrics =
    listIn(annotations[CURRENT_METRICS_ANNOTATION], MetricStatus)?.map(statusToV2) ??
    (current === undefined ? null : [cpuStatus(current)])
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: withoutConverted(metadata),
    spec: {
      ...restOfSpec,
      metrics: metrics.length === 0 ? DEFAULT_METRICS : metrics,
      ...(behavior === undefined ? {} : { behavior }),
    },
    status: {
      ...restOfStatus,
      ...(currentReplicas === 0 ? {} : { currentReplicas }),
      currentMetrics: currentMetrics?.length === 0 ? null : currentMetrics,
      ...(conditions === undefined || conditions.length === 0 ? {} : { conditions }),
    },
  }
}

/** Returns the autoscaler in v1. */
export function fromV2({ metadata, spec, status }: Autoscaler): AutoscalerV1 {
  const { metrics = [], behavior, ...restOfSpec } = spec
  const { currentMetrics, conditions = [], currentReplicas = 0, ...restOfStatus } = status
  const cpu = metrics.find(isCpu)?.resource?.target.averageUtilization
  const others = metrics.filter((metric) => !isCpu(metric))
  const statuses = currentMetrics ?? []
  const currentCpu = statuses.findLast(
    ({ type, resource }) =>
      type === "Resource" && resource?.name === "cpu" && resource.current.averageUtilization !== undefined,
  )?.resource?.current.averageUtilization
  const converted = {
    ...(others.length === 0 ? {} : { [METRICS_ANNOTATION]: listText(MetricSpec, others.map(metricToV1)) }),
    ...(statuses.length === 0
      ? {}
      : { [CURRENT_METRICS_ANNOTATION]: listText(MetricStatus, statuses.map(statusToV1)) }),
    ...(behavior === undefined ? {} : { [BEHAVIOR_ANNOTATION]: behaviorText(behavior) }),
    ...(conditions.length === 0
      ? {}
      : { [CONDITIONS_ANNOTATION]: listText(HorizontalPodAutoscalerCondition, conditions) }),
  }
  const { conditions: _inAnnotation, ...plainStatus } = { conditions, ...restOfStatus }
  return {
    apiVersion: "autoscaling/v1",
    kind: "HorizontalPodAutoscaler",
    metadata:
      Object.keys(converted).length === 0
        ? metadata
        : { ...metadata, annotations: { ...metadata.annotations, ...converted } },
    spec: { ...restOfSpec, ...(cpu === undefined ? {} : { targetCPUUtilizationPercentage: cpu }) },
    status: {
      ...plainStatus,
      currentReplicas,
      ...(currentCpu === undefined ? {} : { currentCPUUtilizationPercentage: currentCpu }),
    },
  }
}

const isCpu = ({ type, resource }: MetricSpecV2): boolean =>
  type === "Resource" && resource?.name === "cpu" && resource.target.averageUtilization !== undefined

const cpuMetric = (averageUtilization: number): MetricSpecV2 => ({
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
})
const cpuStatus = (averageUtilization: number): V2Status.MetricStatus => ({
  type: "Resource",
  resource: { name: "cpu", current: { averageUtilization } },
})

/** Returns the object without undefined properties. */
function present<T extends object>(value: T): { readonly [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as never
}

function metricToV2({ type, object, pods, resource, containerResource, external }: MetricSpec): MetricSpecV2 {
  return present({
    type,
    object: object && {
      describedObject: object.target,
      target: objectTarget(object.targetValue, object.averageValue),
      metric: present({ name: object.metricName, selector: object.selector }),
    },
    pods: pods && {
      metric: present({ name: pods.metricName, selector: pods.selector }),
      target: { type: "AverageValue", averageValue: pods.targetAverageValue },
    },
    resource: resource && {
      name: resource.name,
      target: useTarget(resource.targetAverageUtilization, resource.targetAverageValue),
    },
    containerResource: containerResource && {
      name: containerResource.name,
      target: useTarget(containerResource.targetAverageUtilization, containerResource.targetAverageValue),
      container: containerResource.container,
    },
    external: external && {
      metric: present({ name: external.metricName, selector: external.metricSelector }),
      target: present({
        type: external.targetValue === undefined ? "AverageValue" : "Value",
        value: external.targetValue,
        averageValue: external.targetAverageValue,
      }),
    },
  })
}

/** A value of zero beside an average is one that v1 could not leave out. */
const objectTarget = (value: string, averageValue: string | undefined): MetricTarget =>
  averageValue === undefined
    ? { type: "Value", value }
    : { type: "AverageValue", ...(quantity(value).nano === 0n ? {} : { value }), averageValue }

const useTarget = (averageUtilization: number | undefined, averageValue: string | undefined): MetricTarget =>
  present({ type: averageUtilization === undefined ? "AverageValue" : "Utilization", averageValue, averageUtilization })

function metricToV1({ type, object, pods, resource, containerResource, external }: MetricSpecV2): MetricSpec {
  return present({
    type,
    object:
      object &&
      present({
        target: object.describedObject,
        metricName: object.metric.name,
        targetValue: object.target.value ?? "0",
        selector: object.metric.selector,
        averageValue: object.target.averageValue,
      }),
    pods:
      pods &&
      present({
        metricName: pods.metric.name,
        targetAverageValue: pods.target.averageValue ?? "0",
        selector: pods.metric.selector,
      }),
    resource:
      resource &&
      present({
        name: resource.name,
        targetAverageUtilization: resource.target.averageUtilization,
        targetAverageValue: resource.target.averageValue,
      }),
    containerResource:
      containerResource &&
      present({
        name: containerResource.name,
        targetAverageUtilization: containerResource.target.averageUtilization,
        targetAverageValue: containerResource.target.averageValue,
        container: containerResource.container,
      }),
    external:
      external &&
      present({
        metricName: external.metric.name,
        metricSelector: external.metric.selector,
        targetValue: external.target.value,
        targetAverageValue: external.target.averageValue,
      }),
  })
}

function statusToV2(status: MetricStatus): V2Status.MetricStatus {
  const { type, object, pods, resource, containerResource, external } = status
  return present({
    type,
    object: object && {
      metric: present({ name: object.metricName, selector: object.selector }),
      current: present({ value: object.currentValue, averageValue: object.averageValue }),
      describedObject: object.target,
    },
    pods: pods && {
      metric: present({ name: pods.metricName, selector: pods.selector }),
      current: { averageValue: pods.currentAverageValue },
    },
    resource: resource && {
      name: resource.name,
      current: present({
        averageValue: resource.currentAverageValue,
        averageUtilization: resource.currentAverageUtilization,
      }),
    },
    containerResource: containerResource && {
      name: containerResource.name,
      current: present({
        averageValue: containerResource.currentAverageValue,
        averageUtilization: containerResource.currentAverageUtilization,
      }),
      container: containerResource.container,
    },
    external: external && {
      metric: present({ name: external.metricName, selector: external.metricSelector }),
      current: present({ value: external.currentValue, averageValue: external.currentAverageValue }),
    },
  })
}

function statusToV1(status: V2Status.MetricStatus): MetricStatus {
  const { type, object, pods, resource, containerResource, external } = status
  return present({
    type,
    object:
      object &&
      present({
        target: object.describedObject,
        metricName: object.metric.name,
        currentValue: object.current.value ?? "0",
        selector: object.metric.selector,
        averageValue: object.current.averageValue,
      }),
    pods:
      pods &&
      present({
        metricName: pods.metric.name,
        currentAverageValue: pods.current.averageValue ?? "0",
        selector: pods.metric.selector,
      }),
    resource:
      resource &&
      present({
        name: resource.name,
        currentAverageUtilization: resource.current.averageUtilization,
        currentAverageValue: resource.current.averageValue ?? "0",
      }),
    containerResource:
      containerResource &&
      present({
        name: containerResource.name,
        currentAverageUtilization: containerResource.current.averageUtilization,
        currentAverageValue: containerResource.current.averageValue ?? "0",
        container: containerResource.container,
      }),
    external:
      external &&
      present({
        metricName: external.metric.name,
        metricSelector: external.metric.selector,
        currentValue: external.current.value ?? "0",
        currentAverageValue: external.current.averageValue,
      }),
  })
}

/** Returns the list in an annotation; undefined when it has none of the wanted type. */
function listIn<T extends Message>(text: string | undefined, item: T): readonly ItemOf<T>[] | undefined {
  const list = parsed(text)
  if (!Array.isArray(list)) return undefined
  return decoded(() => list.map((each: unknown) => decodeMessage(item, each ?? {}).object as ItemOf<T>))
}
type ItemOf<T> = T extends typeof MetricSpec
  ? MetricSpec
  : T extends typeof MetricStatus
    ? MetricStatus
    : HorizontalPodAutoscalerCondition

function behaviorIn(text: string | undefined): HorizontalPodAutoscalerBehavior | undefined {
  const value = parsed(text)
  if (!isJsonObject(value)) return undefined
  const behavior = decoded(
    () => decodeMessage(HorizontalPodAutoscalerBehavior, jsonNames(value)).object as HorizontalPodAutoscalerBehavior,
  )
  return behavior === undefined || Object.keys(behavior).length === 0 ? undefined : behavior
}

/** Upstream writes the behavior with Go's names (`ScaleUp`) and reads names in any case. */
function jsonNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(jsonNames)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name.slice(0, 1).toLowerCase() + name.slice(1), jsonNames(inner)]),
  )
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function decoded<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

const listText = (item: Message, list: readonly object[]): string => goJson(list.map((each) => plainForm(item, each)))

function behaviorText({ scaleUp, scaleDown }: HorizontalPodAutoscalerBehavior): string {
  const rules = (given: HPAScalingRules | undefined) =>
    given === undefined
      ? null
      : {
          StabilizationWindowSeconds: given.stabilizationWindowSeconds ?? null,
          SelectPolicy: given.selectPolicy ?? null,
          Policies:
            given.policies?.map(({ type, value, periodSeconds }) => ({
              Type: type,
              Value: value,
              PeriodSeconds: periodSeconds,
            })) ?? null,
          Tolerance: given.tolerance ?? null,
        }
  return goJson({ ScaleUp: rules(scaleUp), ScaleDown: rules(scaleDown) })
}

/** Returns JSON as Go's encoder writes it, with HTML characters escaped. */
const goJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`)
