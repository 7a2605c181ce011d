import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { CrossVersionObjectReference, MetricIdentifier } from "./metrics.ts"

/** The values of metrics that the autoscaler read last. Source: k8s.io/api autoscaling/v2/types.go. */

export const MetricValueStatus = message("autoscaling.v2.MetricValueStatus", "The present value of a metric.", {
  value: f.quantity(1, "The value of the metric."),
  averageValue: f.quantity(2, "The value for each pod."),
  averageUtilization: f.int32(3, "The use as a percentage of what the pods request.").pointer(),
})
export interface MetricValueStatus extends ObjectOf<typeof MetricValueStatus> {}

const CURRENT = "The present value."
const METRIC = "The metric."
const RESOURCE_NAME = "Name of the resource."

export const ObjectMetricStatus = message(
  "autoscaling.v2.ObjectMetricStatus",
  "The last value of a metric of one object.",
  {
    metric: f.message(1, MetricIdentifier, METRIC).required(),
    current: f.message(2, MetricValueStatus, CURRENT).required(),
    describedObject: f.message(3, CrossVersionObjectReference, "The object.").required(),
  },
)
export interface ObjectMetricStatus extends ObjectOf<typeof ObjectMetricStatus> {}

export const PodsMetricStatus = message("autoscaling.v2.PodsMetricStatus", "The last value of a metric of the pods.", {
  metric: f.message(1, MetricIdentifier, METRIC).required(),
  current: f.message(2, MetricValueStatus, CURRENT).required(),
})
export interface PodsMetricStatus extends ObjectOf<typeof PodsMetricStatus> {}

export const ResourceMetricStatus = message(
  "autoscaling.v2.ResourceMetricStatus",
  "How much of a resource the pods use.",
  {
    name: f.string(1, RESOURCE_NAME).printZero(),
    current: f.message(2, MetricValueStatus, CURRENT).required(),
  },
)
export interface ResourceMetricStatus extends ObjectOf<typeof ResourceMetricStatus> {}

export const ContainerResourceMetricStatus = message(
  "autoscaling.v2.ContainerResourceMetricStatus",
  "The usage of a resource by one container in each pod.",
  {
    name: f.string(1, RESOURCE_NAME).printZero(),
    current: f.message(2, MetricValueStatus, CURRENT).required(),
    container: f.string(3, "Name of the container.").printZero(),
  },
)
export interface ContainerResourceMetricStatus extends ObjectOf<typeof ContainerResourceMetricStatus> {}

export const ExternalMetricStatus = message(
  "autoscaling.v2.ExternalMetricStatus",
  "The last value of a metric from outside of the cluster.",
  {
    metric: f.message(1, MetricIdentifier, METRIC).required(),
    current: f.message(2, MetricValueStatus, CURRENT).required(),
  },
)
export interface ExternalMetricStatus extends ObjectOf<typeof ExternalMetricStatus> {}

export const MetricStatus = message("autoscaling.v2.MetricStatus", "The last value of one of the metrics.", {
  type: f.string(1, "Kind of the metric, as in the spec.").printZero(),
  object: f.message(2, ObjectMetricStatus, "A metric of one object."),
  pods: f.message(3, PodsMetricStatus, "A metric of each pod."),
  resource: f.message(4, ResourceMetricStatus, "A resource of the pods."),
  containerResource: f.message(7, ContainerResourceMetricStatus, "A resource of one container in each pod."),
  external: f.message(5, ExternalMetricStatus, "A metric from outside of the cluster."),
})
export interface MetricStatus extends ObjectOf<typeof MetricStatus> {}

export const HorizontalPodAutoscalerCondition = message(
  "autoscaling.v2.HorizontalPodAutoscalerCondition",
  "One aspect of an autoscaler's state.",
  {
    type: f.string(1, "Name of the aspect: ScalingActive, AbleToScale, ScalingLimited or ScaledToZero.").printZero(),
    status: f.string(2, "True, False or Unknown.").printZero(),
    lastTransitionTime: f.time(3, "When the status last changed.").orNull(),
    reason: f.string(4, "Reason of the last change, in one word."),
    message: f.string(5, "The reason in words."),
  },
)
export interface HorizontalPodAutoscalerCondition extends ObjectOf<typeof HorizontalPodAutoscalerCondition> {}
