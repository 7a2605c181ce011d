import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"
import { CrossVersionObjectReference } from "../v2/metrics.ts"

/**
 * The form of metrics in annotations of autoscaling/v1. No field has these types. Source: k8s.io/api
 * autoscaling/v1/types.go.
 */

const NAME = "Name of the metric."
const SELECTOR = "Narrows the metric down by its labels."

export const MetricSpec = message("autoscaling.v1.MetricSpec", "A metric, in the form of an annotation.", {
  type: f.string(1, "Kind of the metric.").printZero(),
  object: f.message(
    2,
    message("autoscaling.v1.ObjectMetricSource", "A metric of one object.", {
      target: f.message(1, CrossVersionObjectReference, "The object.").always(),
      metricName: f.string(2, NAME).printZero(),
      targetValue: f.quantity(3, "The wanted value.").default("0").printZero(),
      selector: f.message(4, LabelSelector, SELECTOR),
      averageValue: f.quantity(5, "The wanted value for each pod."),
    }),
    "A metric of one object.",
  ),
  pods: f.message(
    3,
    message("autoscaling.v1.PodsMetricSource", "A metric of each pod.", {
      metricName: f.string(1, NAME).printZero(),
      targetAverageValue: f.quantity(2, "The wanted value for each pod.").default("0").printZero(),
      selector: f.message(3, LabelSelector, SELECTOR),
    }),
    "A metric of each pod.",
  ),
  resource: f.message(
    4,
    message("autoscaling.v1.ResourceMetricSource", "A resource of the pods.", {
      name: f.string(1, "Name of the resource.").printZero(),
      targetAverageUtilization: f.int32(2, "The wanted use as a percentage of what is requested.").pointer(),
      targetAverageValue: f.quantity(3, "The wanted use of each pod."),
    }),
    "A resource of the pods.",
  ),
  containerResource: f.message(
    7,
    message("autoscaling.v1.ContainerResourceMetricSource", "A resource of one container in each pod.", {
      name: f.string(1, "Name of the resource.").printZero(),
      targetAverageUtilization: f.int32(2, "The wanted use as a percentage of what is requested.").pointer(),
      targetAverageValue: f.quantity(3, "The wanted use of each container."),
      container: f.string(5, "Name of the container.").printZero(),
    }),
    "A resource of one container in each pod.",
  ),
  external: f.message(
    5,
    message("autoscaling.v1.ExternalMetricSource", "A metric from outside of the cluster.", {
      metricName: f.string(1, NAME).printZero(),
      metricSelector: f.message(2, LabelSelector, SELECTOR),
      targetValue: f.quantity(3, "The wanted value."),
      targetAverageValue: f.quantity(4, "The wanted value for each pod."),
    }),
    "A metric from outside of the cluster.",
  ),
})
export interface MetricSpec extends ObjectOf<typeof MetricSpec> {}

export const MetricStatus = message(
  "autoscaling.v1.MetricStatus",
  "The last value of a metric, in the form of an annotation.",
  {
    type: f.string(1, "Kind of the metric.").printZero(),
    object: f.message(
      2,
      message("autoscaling.v1.ObjectMetricStatus", "A metric of one object.", {
        target: f.message(1, CrossVersionObjectReference, "The object.").always(),
        metricName: f.string(2, NAME).printZero(),
        currentValue: f.quantity(3, "The present value.").default("0").printZero(),
        selector: f.message(4, LabelSelector, SELECTOR),
        averageValue: f.quantity(5, "The present value for each pod."),
      }),
      "A metric of one object.",
    ),
    pods: f.message(
      3,
      message("autoscaling.v1.PodsMetricStatus", "A metric of each pod.", {
        metricName: f.string(1, NAME).printZero(),
        currentAverageValue: f.quantity(2, "The present value for each pod.").default("0").printZero(),
        selector: f.message(3, LabelSelector, SELECTOR),
      }),
      "A metric of each pod.",
    ),
    resource: f.message(
      4,
      message("autoscaling.v1.ResourceMetricStatus", "A resource of the pods.", {
        name: f.string(1, "Name of the resource.").printZero(),
        currentAverageUtilization: f.int32(2, "The present use as a percentage of what is requested.").pointer(),
        currentAverageValue: f.quantity(3, "The present use of each pod.").default("0").printZero(),
      }),
      "A resource of the pods.",
    ),
    containerResource: f.message(
      7,
      message("autoscaling.v1.ContainerResourceMetricStatus", "A resource of one container in each pod.", {
        name: f.string(1, "Name of the resource.").printZero(),
        currentAverageUtilization: f.int32(2, "The present use as a percentage of what is requested.").pointer(),
        currentAverageValue: f.quantity(3, "The present use of each container.").default("0").printZero(),
        container: f.string(4, "Name of the container.").printZero(),
      }),
      "A resource of one container in each pod.",
    ),
    external: f.message(
      5,
      message("autoscaling.v1.ExternalMetricStatus", "A metric from outside of the cluster.", {
        metricName: f.string(1, NAME).printZero(),
        metricSelector: f.message(2, LabelSelector, SELECTOR),
        currentValue: f.quantity(3, "The present value.").default("0").printZero(),
        currentAverageValue: f.quantity(4, "The present value for each pod."),
      }),
      "A metric from outside of the cluster.",
    ),
  },
)
export interface MetricStatus extends ObjectOf<typeof MetricStatus> {}
