import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { autoscalerFaults, autoscalerStatusFaults } from "./horizontalpodautoscaler-validation.ts"
import { autoscalerColumns } from "./horizontalpodautoscaler-columns.ts"
import { HorizontalPodAutoscalerCondition, MetricStatus } from "./metric-status.ts"
import {
  CrossVersionObjectReference,
  HorizontalPodAutoscalerBehavior,
  MetricSpec,
  type HPAScalingRules,
} from "./metrics.ts"

/**
 * Source: k8s.io/api autoscaling/v2/types.go, pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go,
 * pkg/apis/autoscaling/v2/defaults.go.
 */

/** The metric of an autoscaler that names none: 80 % of the CPU that its pods request. */
export const DEFAULT_METRICS: readonly MetricSpec[] = [
  { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } },
]
const POLICY_PERIOD = 15
const DEFAULT_SCALE_UP: HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [
    { type: "Pods", value: 4, periodSeconds: POLICY_PERIOD },
    { type: "Percent", value: 100, periodSeconds: POLICY_PERIOD },
  ],
}
/** Without a stabilization window, which is a setting of the controller. */
const DEFAULT_SCALE_DOWN: HPAScalingRules = {
  selectPolicy: "Max",
  policies: [{ type: "Percent", value: 100, periodSeconds: POLICY_PERIOD }],
}

const filled = (behavior: HorizontalPodAutoscalerBehavior): HorizontalPodAutoscalerBehavior => {
  const { scaleUp, scaleDown } = behavior
  return isFilled(scaleUp, DEFAULT_SCALE_UP) && isFilled(scaleDown, DEFAULT_SCALE_DOWN)
    ? behavior
    : { scaleUp: { ...DEFAULT_SCALE_UP, ...scaleUp }, scaleDown: { ...DEFAULT_SCALE_DOWN, ...scaleDown } }
}
const isFilled = (rules: HPAScalingRules | undefined, defaults: HPAScalingRules): boolean =>
  rules !== undefined && Object.keys(defaults).every((name) => name in rules)

function withDefaults<S extends Pick<HorizontalPodAutoscalerSpec, "metrics" | "behavior">>(spec: S): S {
  const metrics = spec.metrics === undefined || spec.metrics.length === 0 ? DEFAULT_METRICS : spec.metrics
  const behavior = spec.behavior === undefined ? undefined : filled(spec.behavior)
  if (metrics === spec.metrics && behavior === spec.behavior) return spec
  return { ...spec, metrics, ...(behavior === undefined ? {} : { behavior }) }
}

export const HorizontalPodAutoscalerSpec = message(
  "autoscaling.v2.HorizontalPodAutoscalerSpec",
  "What is scaled, by which metrics, and within which bounds.",
  {
    scaleTargetRef: f
      .message(1, CrossVersionObjectReference, "The workload, which has a scale subresource.")
      .required(),
    minReplicas: f.int32(2, "Least number of replicas.").default(1).pointer(),
    maxReplicas: f.int32(3, "Greatest number of replicas.").required(),
    metrics: f
      .list(4, MetricSpec, "By what it is scaled; the metric that asks for most replicas wins. 80 % CPU unless given.")
      .atomic(),
    behavior: f.message(5, HorizontalPodAutoscalerBehavior, "How fast it scales up and down."),
  },
  { defaults: withDefaults },
)
export interface HorizontalPodAutoscalerSpec extends ObjectOf<typeof HorizontalPodAutoscalerSpec> {}

export const HorizontalPodAutoscalerStatus = message(
  "autoscaling.v2.HorizontalPodAutoscalerStatus",
  "What the autoscaler saw and did last.",
  {
    observedGeneration: f.int64(1, "Generation that the controller has acted on.").pointer(),
    lastScaleTime: f.time(2, "When it last changed the number of replicas."),
    currentReplicas: f.int32(3, "Number of replicas that it saw last."),
    desiredReplicas: f.int32(4, "Number of replicas that it wants.").default(0).printZero(),
    currentMetrics: f.list(5, MetricStatus, "What the metrics said last.").atomic().orNull(),
    conditions: f
      .list(6, HorizontalPodAutoscalerCondition, "Whether it can scale, and does.")
      .listMap("type")
      .merge("type"),
  },
  { unchecked: true },
)
export interface HorizontalPodAutoscalerStatus extends ObjectOf<typeof HorizontalPodAutoscalerStatus> {}

const fields = {
  spec: f.message(2, HorizontalPodAutoscalerSpec, "What is scaled, and how.").required().ownRule(),
  status: f.message(3, HorizontalPodAutoscalerStatus, "What the autoscaler saw and did last.").always(),
}
export interface HorizontalPodAutoscaler extends ObjectFor<typeof fields> {}

/** Holds what autoscaling/v1 has no fields for. Source: pkg/apis/autoscaling/annotations.go. */
export const METRICS_ANNOTATION = "autoscaling.alpha.kubernetes.io/metrics"
export const CURRENT_METRICS_ANNOTATION = "autoscaling.alpha.kubernetes.io/current-metrics"
export const CONDITIONS_ANNOTATION = "autoscaling.alpha.kubernetes.io/conditions"
export const BEHAVIOR_ANNOTATION = "autoscaling.alpha.kubernetes.io/behavior"
const OF_OLDER_VERSIONS = [
  METRICS_ANNOTATION,
  CURRENT_METRICS_ANNOTATION,
  CONDITIONS_ANNOTATION,
  BEHAVIOR_ANNOTATION,
  "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
  "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
]

/** Returns the metadata without the annotations that stand for fields. */
export function withoutConverted(metadata: ObjectMeta): ObjectMeta {
  const { annotations } = metadata
  if (annotations === undefined || !OF_OLDER_VERSIONS.some((name) => name in annotations)) return metadata
  const { annotations: _dropped, ...rest } = metadata
  const left = Object.entries(annotations).filter(([name]) => !OF_OLDER_VERSIONS.includes(name))
  return left.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(left) }
}

export const HorizontalPodAutoscaler = defineResource(
  {
    group: "autoscaling",
    version: "v2",
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
    shortNames: ["hpa"],
    categories: ["all"],
    scope: "Namespaced",
    doc: "Sets the number of a workload's replicas by what metrics say.",
    columns: autoscalerColumns<HorizontalPodAutoscaler>((autoscaler) => autoscaler),
    subresources: {
      status: { resets: [["spec"]], validateUpdate: ({ status }) => autoscalerStatusFaults(status) },
    },
    defaults(autoscaler): HorizontalPodAutoscaler {
      const metadata = withoutConverted(autoscaler.metadata)
      return metadata === autoscaler.metadata ? autoscaler : { ...autoscaler, metadata }
    },
    validateSpec: ({ spec }, old) => autoscalerFaults(spec, old?.spec),
  },
  fields,
)
