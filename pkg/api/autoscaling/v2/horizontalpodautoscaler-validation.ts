import type { Cause } from "../../../apimachinery/errors.ts"
import {
  eachWithin,
  forbiddenField,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  notSupported,
  required,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import { isDNS1123Label, isPathSegmentName } from "../../../apimachinery/validation/names.ts"
import { quantity } from "../../../apimachinery/scalars/quantity.ts"
import { containerResourceNameFaults } from "../../core/v1/resources/resource-names.ts"
import type { HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus } from "./horizontalpodautoscalerspec.ts"
import {
  METRIC_TYPES,
  type ContainerResourceMetricSource,
  type CrossVersionObjectReference,
  type HPAScalingPolicy,
  type HPAScalingRules,
  type MetricIdentifier,
  type MetricSpec,
  type MetricTarget,
  type MetricType,
  type ObjectMetricSource,
  type ResourceMetricSource,
} from "./metrics.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Source: pkg/apis/autoscaling/validation, validationOptionsForHorizontalPodAutoscaler. */

const LONGEST_PERIOD = 1800
const LONGEST_WINDOW = 3600

/** How strictly the apiVersion of a reference is checked: faults that the stored object has are tolerated. */
interface References {
  readonly anyVersion?: boolean
  readonly coreGroup?: boolean
}

/** Returns the faults of a spec, in the words of v2 whatever version was sent. `old` is the spec that it replaces. */
export function autoscalerFaults(
  spec: HorizontalPodAutoscalerSpec,
  old: HorizontalPodAutoscalerSpec | undefined,
): readonly Cause[] {
  const { minReplicas, maxReplicas, scaleTargetRef, metrics = [], behavior } = spec
  const causes: Cause[] = []
  const least = old?.minReplicas === 0 ? 0 : 1
  if (minReplicas < least)
    causes.push(invalidValue("minReplicas", minReplicas, `must be greater than or equal to ${least}`))
  if (maxReplicas === 0) causes.push(required("maxReplicas", "must be set and greater than 0"))
  else if (maxReplicas < 0) causes.push(invalidValue("maxReplicas", maxReplicas, "must be greater than or equal to 1"))
  if (maxReplicas < minReplicas)
    causes.push(invalidValue("maxReplicas", maxReplicas, "must be greater than or equal to `minReplicas`"))
  within(causes, referenceFaults(scaleTargetRef, targetRules(scaleTargetRef, old?.scaleTargetRef)), "scaleTargetRef")
  const objects: References = { coreGroup: true, anyVersion: (old?.metrics ?? []).some(hasWrongVersion) }
  eachWithin(causes, metrics, "metrics", (metric) => metricFaults(metric, objects))
  if (minReplicas === 0 && !metrics.some(({ type }) => type === "Object" || type === "External"))
    causes.push(
      forbiddenField(
        "metrics",
        "must specify at least one Object or External metric to support scaling to zero replicas",
      ),
    )
  if (behavior?.scaleUp !== undefined) within(causes, ruleFaults(behavior.scaleUp), "behavior.scaleUp")
  if (behavior?.scaleDown !== undefined) within(causes, ruleFaults(behavior.scaleDown), "behavior.scaleDown")
  const found: Cause[] = []
  within(found, causes, "spec")
  return found
}

export function autoscalerStatusFaults({
  currentReplicas = 0,
  desiredReplicas,
}: HorizontalPodAutoscalerStatus): readonly Cause[] {
  const negative = (field: string, value: number) =>
    value < 0 ? [invalidValue(`status.${field}`, value, "must be greater than or equal to 0")] : []
  return [...negative("currentReplicas", currentReplicas), ...negative("desiredReplicas", desiredReplicas)]
}

function targetRules(
  { apiVersion, kind }: CrossVersionObjectReference,
  old: CrossVersionObjectReference | undefined,
): References {
  if (old !== undefined && old.apiVersion === apiVersion && old.kind === kind) return { anyVersion: true }
  return { coreGroup: kind === "ReplicationController" }
}

const hasWrongVersion = ({ type, object }: MetricSpec): boolean =>
  type === "Object" && object !== undefined && versionProblem(object.describedObject, true) !== undefined

function versionProblem({ apiVersion = "" }: CrossVersionObjectReference, coreGroup: boolean): string | undefined {
  const slashes = apiVersion.split("/").length - 1
  if (apiVersion !== "/" && slashes > 1) return `unexpected GroupVersion string: ${apiVersion}`
  const hasGroup = slashes === 1 && !apiVersion.startsWith("/")
  return coreGroup || hasGroup ? undefined : "apiVersion must specify API group"
}

function referenceFaults(
  ref: CrossVersionObjectReference,
  { anyVersion = false, coreGroup = false }: References,
): readonly Cause[] {
  const problem = anyVersion ? undefined : versionProblem(ref, coreGroup)
  return [
    ...segmentFaults("kind", ref.kind),
    ...segmentFaults("name", ref.name),
    ...(problem === undefined ? [] : [invalidValue("apiVersion", ref.apiVersion ?? "", problem)]),
  ]
}

const segmentFaults = (field: string, value: string, detail?: string): readonly Cause[] =>
  value === "" ? [required(field, detail)] : invalidValues(field, value, isPathSegmentName(value))

/** In upstream's order: when several are given only the first one is validated. */
const SOURCES = ["object", "external", "pods", "resource", "containerResource"] as const
const SOURCE_OF: Readonly<Record<MetricType, (typeof SOURCES)[number]>> = {
  Object: "object",
  External: "external",
  Pods: "pods",
  Resource: "resource",
  ContainerResource: "containerResource",
}

function metricFaults(metric: MetricSpec, objects: References): readonly Cause[] {
  const { type } = metric
  const causes: Cause[] = []
  if (type === "") causes.push(required("type", "must specify a metric source type"))
  const expected = SOURCE_OF[type as MetricType] as (typeof SOURCES)[number] | undefined
  if (expected === undefined) causes.push(notSupported("type", type, METRIC_TYPES))
  const given = SOURCES.filter((source) => metric[source] !== undefined)
  if (given[0] !== undefined) within(causes, sourceFaults(metric, given[0], objects), given[0])
  if (expected === undefined) causes.push(notSupported("type", type, METRIC_TYPES))
  else if (metric[expected] === undefined)
    causes.push(required(expected, "must populate information for the given metric source"))
  if (given.length !== 1)
    for (const source of given)
      if (source !== expected) causes.push(forbiddenField(source, "must populate the given metric source only"))
  return causes
}

function sourceFaults(metric: MetricSpec, source: (typeof SOURCES)[number], objects: References): readonly Cause[] {
  switch (source) {
    case "object":
      return objectFaults(metric.object!, objects)
    case "external":
      return [
        ...identified(metric.external!),
        ...eitherValue(metric.external!.target, "must set either a target value for metric or a per-pod target"),
        ...(metric.external!.target.value !== undefined && metric.external!.target.averageValue !== undefined
          ? [forbiddenField("target.value", "may not set both a target value for metric and a per-pod target")]
          : []),
      ]
    case "pods":
      return [
        ...identified(metric.pods!),
        ...(metric.pods!.target.averageValue === undefined
          ? [required("target.averageValue", "must specify a positive target averageValue")]
          : []),
      ]
    case "resource":
      return resourceFaults(metric.resource!)
    case "containerResource":
      return containerResourceFaults(metric.containerResource!)
  }
}

function objectFaults(source: ObjectMetricSource, references: References): readonly Cause[] {
  const causes: Cause[] = []
  within(causes, referenceFaults(source.describedObject, references), "describedObject")
  pushAll(causes, identified(source), eitherValue(source.target, "must set either a target value or averageValue"))
  return causes
}

function identified({
  metric,
  target,
}: {
  readonly metric: MetricIdentifier
  readonly target: MetricTarget
}): readonly Cause[] {
  const causes: Cause[] = []
  within(causes, segmentFaults("name", metric.name, "must specify a metric name"), "metric")
  within(causes, targetFaults(target), "target")
  return causes
}

const eitherValue = ({ value, averageValue }: MetricTarget, detail: string): readonly Cause[] =>
  value === undefined && averageValue === undefined ? [required("target.averageValue", detail)] : NO_CAUSES

const resourceFaults = ({ name, target }: ResourceMetricSource): readonly Cause[] => [
  ...(name === "" ? [required("name", "must specify a resource name")] : []),
  ...useFaults(target),
]

function containerResourceFaults({ name, container, target }: ContainerResourceMetricSource): readonly Cause[] {
  const causes: Cause[] = []
  if (name === "") causes.push(required("name", "must specify a resource name"))
  else within(causes, containerResourceNameFaults(name), "name")
  if (container === "") causes.push(required("container", "must specify a container"))
  else pushAll(causes, invalidValues("container", container, isDNS1123Label(container)))
  return [...causes, ...useFaults(target)]
}

function useFaults(target: MetricTarget): readonly Cause[] {
  const { averageUtilization, averageValue } = target
  const causes: Cause[] = []
  within(causes, targetFaults(target), "target")
  if (averageUtilization === undefined && averageValue === undefined)
    causes.push(required("target.averageUtilization", "must set either a target raw value or a target utilization"))
  if (averageUtilization !== undefined && averageValue !== undefined)
    causes.push(forbiddenField("target.averageValue", "may not set both a target raw value and a target utilization"))
  return causes
}

function targetFaults({ type, value, averageValue, averageUtilization }: MetricTarget): readonly Cause[] {
  const causes: Cause[] = []
  if (type === "") causes.push(required("type", "must specify a metric target type"))
  if (!["Utilization", "Value", "AverageValue"].includes(type))
    causes.push(invalidValue("type", type, "must be either Utilization, Value, or AverageValue"))
  if (value !== undefined && quantity(value).nano <= 0n) causes.push(invalidValue("value", value, "must be positive"))
  if (averageValue !== undefined && quantity(averageValue).nano <= 0n)
    causes.push(invalidValue("averageValue", averageValue, "must be positive"))
  if (averageUtilization !== undefined && averageUtilization < 1)
    causes.push(invalidValue("averageUtilization", averageUtilization, "must be greater than 0"))
  return causes
}

function ruleFaults({
  stabilizationWindowSeconds: window,
  selectPolicy,
  policies = [],
  tolerance,
}: HPAScalingRules): readonly Cause[] {
  const causes: Cause[] = []
  if (window !== undefined && window < 0)
    causes.push(invalidValue("stabilizationWindowSeconds", window, "must be greater than or equal to zero"))
  if (window !== undefined && window > LONGEST_WINDOW)
    causes.push(invalidValue("stabilizationWindowSeconds", window, `must be less than or equal to ${LONGEST_WINDOW}`))
  if (selectPolicy !== undefined && !["Disabled", "Max", "Min"].includes(selectPolicy))
    causes.push(notSupported("selectPolicy", selectPolicy, ["Disabled", "Max", "Min"]))
  if (policies.length === 0) causes.push(required("policies", "must specify at least one Policy"))
  eachWithin(causes, policies, "policies", policyFaults)
  if (tolerance !== undefined && quantity(tolerance).nano < 0n)
    causes.push(invalidValue("tolerance", tolerance, "must be greater than or equal to 0"))
  return causes
}

function policyFaults({ type, value, periodSeconds }: HPAScalingPolicy): readonly Cause[] {
  const causes: Cause[] = []
  if (type !== "Pods" && type !== "Percent") causes.push(notSupported("type", type, ["Percent", "Pods"]))
  if (value <= 0) causes.push(invalidValue("value", value, "must be greater than zero"))
  if (periodSeconds <= 0) causes.push(invalidValue("periodSeconds", periodSeconds, "must be greater than zero"))
  if (periodSeconds > LONGEST_PERIOD)
    causes.push(invalidValue("periodSeconds", periodSeconds, `must be less than or equal to ${LONGEST_PERIOD}`))
  return causes
}
