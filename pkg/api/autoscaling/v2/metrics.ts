import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"

/** The metrics of an autoscaler and their targets. Source: k8s.io/api autoscaling/v2/types.go. */

/** In alphabetical order, as error messages list them. */
export const METRIC_TYPES = ["ContainerResource", "External", "Object", "Pods", "Resource"] as const
export type MetricType = (typeof METRIC_TYPES)[number]

export const CrossVersionObjectReference = message(
  "autoscaling.v2.CrossVersionObjectReference",
  "An object by its kind and name, in the namespace of the autoscaler.",
  {
    kind: f.string(1, "Kind of the object.").required().ownRule(),
    name: f.string(2, "Name of the object.").required().ownRule(),
    apiVersion: f.string(3, "Group and version of the kind."),
  },
)
export interface CrossVersionObjectReference extends ObjectOf<typeof CrossVersionObjectReference> {}

export const MetricIdentifier = message("autoscaling.v2.MetricIdentifier", "A metric by its name.", {
  name: f.string(1, "Name of the metric.").required().ownRule(),
  selector: f.message(2, LabelSelector, "Narrows the metric down by its labels."),
})
export interface MetricIdentifier extends ObjectOf<typeof MetricIdentifier> {}

export const MetricTarget = message("autoscaling.v2.MetricTarget", "The wanted value of a metric.", {
  type: f.string(1, "How the target is given: Utilization, Value or AverageValue.").required().ownRule(),
  value: f.quantity(2, "The wanted value of the metric."),
  averageValue: f.quantity(3, "The wanted value of the metric for each pod."),
  averageUtilization: f.int32(4, "The wanted use as a percentage of what the pods request.").pointer(),
})
export interface MetricTarget extends ObjectOf<typeof MetricTarget> {}

const TARGET = "What is wanted of the metric."
const METRIC = "The metric."
const RESOURCE_NAME = "Name of the resource, such as cpu."

export const ObjectMetricSource = message(
  "autoscaling.v2.ObjectMetricSource",
  "A metric of one object, such as the requests per second of an Ingress.",
  {
    describedObject: f.message(1, CrossVersionObjectReference, "The object.").required(),
    target: f.message(2, MetricTarget, TARGET).required(),
    metric: f.message(3, MetricIdentifier, METRIC).required(),
  },
)
export interface ObjectMetricSource extends ObjectOf<typeof ObjectMetricSource> {}

export const PodsMetricSource = message(
  "autoscaling.v2.PodsMetricSource",
  "A metric of each pod of the target; its average is compared.",
  {
    metric: f.message(1, MetricIdentifier, METRIC).required(),
    target: f.message(2, MetricTarget, TARGET).required(),
  },
)
export interface PodsMetricSource extends ObjectOf<typeof PodsMetricSource> {}

export const ResourceMetricSource = message(
  "autoscaling.v2.ResourceMetricSource",
  "A resource that the pods of the target request and use.",
  {
    name: f.string(1, RESOURCE_NAME).required().ownRule(),
    target: f.message(2, MetricTarget, TARGET).required(),
  },
)
export interface ResourceMetricSource extends ObjectOf<typeof ResourceMetricSource> {}

export const ContainerResourceMetricSource = message(
  "autoscaling.v2.ContainerResourceMetricSource",
  "A resource that one container in each pod of the target requests and uses.",
  {
    name: f.string(1, RESOURCE_NAME).required().ownRule(),
    target: f.message(2, MetricTarget, TARGET).required(),
    container: f.string(3, "Name of the container.").required().ownRule(),
  },
)
export interface ContainerResourceMetricSource extends ObjectOf<typeof ContainerResourceMetricSource> {}

export const ExternalMetricSource = message(
  "autoscaling.v2.ExternalMetricSource",
  "A metric that belongs to no object of the cluster, such as the length of a queue.",
  {
    metric: f.message(1, MetricIdentifier, METRIC).required(),
    target: f.message(2, MetricTarget, TARGET).required(),
  },
)
export interface ExternalMetricSource extends ObjectOf<typeof ExternalMetricSource> {}

export const MetricSpec = message(
  "autoscaling.v2.MetricSpec",
  "One metric from which the number of replicas is computed; exactly the field that `type` names is set.",
  {
    type: f
      .string(1, "Kind of the metric: Object, Pods, Resource, ContainerResource or External.")
      .required()
      .ownRule(),
    object: f.message(2, ObjectMetricSource, "A metric of one object."),
    pods: f.message(3, PodsMetricSource, "A metric of each pod."),
    resource: f.message(4, ResourceMetricSource, "A resource of the pods."),
    containerResource: f.message(7, ContainerResourceMetricSource, "A resource of one container in each pod."),
    external: f.message(5, ExternalMetricSource, "A metric from outside of the cluster."),
  },
)
export interface MetricSpec extends ObjectOf<typeof MetricSpec> {}

export const HPAScalingPolicy = message("autoscaling.v2.HPAScalingPolicy", "A limit on the change within a period.", {
  type: f.string(1, "Whether `value` counts pods or is a percentage: Pods or Percent.").required().ownRule(),
  value: f.int32(2, "How much may change.").required(),
  periodSeconds: f.int32(3, "Within how many seconds, at most 1800.").required(),
})
export interface HPAScalingPolicy extends ObjectOf<typeof HPAScalingPolicy> {}

export const HPAScalingRules = message(
  "autoscaling.v2.HPAScalingRules",
  "Limits and window for scaling in one direction.",
  {
    stabilizationWindowSeconds: f
      .int32(3, "For how many seconds back earlier recommendations count, at most 3600.")
      .pointer(),
    selectPolicy: f.string(1, "Which of the policies holds: Max, Min, or Disabled for no scaling at all.").pointer(),
    policies: f.list(2, HPAScalingPolicy, "The limits; at least one.").atomic().pointer(),
    tolerance: f.quantity(
      4,
      "Tolerance: the deviation from the target, as a fraction of it, within which nothing is scaled.",
    ),
  },
)
export interface HPAScalingRules extends ObjectOf<typeof HPAScalingRules> {}

export const HorizontalPodAutoscalerBehavior = message(
  "autoscaling.v2.HorizontalPodAutoscalerBehavior",
  "Limits and windows for scaling up and down.",
  {
    scaleUp: f.message(1, HPAScalingRules, "Rules for more replicas."),
    scaleDown: f.message(2, HPAScalingRules, "Rules for fewer replicas."),
  },
)
export interface HorizontalPodAutoscalerBehavior extends ObjectOf<typeof HorizontalPodAutoscalerBehavior> {}
