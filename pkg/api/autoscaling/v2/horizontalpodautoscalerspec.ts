import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { HorizontalPodAutoscalerCondition, MetricStatus } from "./metric-status.ts"
import {
  CrossVersionObjectReference,
  HorizontalPodAutoscalerBehavior,
  MetricSpec,
  type HPAScalingRules,
} from "./metrics.ts"

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
  "The workload to scale, the metrics and the bounds.",
  {
    scaleTargetRef: f
      .message(1, CrossVersionObjectReference, "The workload, which has a scale subresource.")
      .required(),
    minReplicas: f.int32(2, "Least number of replicas.").default(1).pointer(),
    maxReplicas: f.int32(3, "Greatest number of replicas.").required(),
    metrics: f
      .list(4, MetricSpec, "By what it is scaled; the metric that asks for most replicas wins. 80 % CPU unless given.")
      .atomic(),
    behavior: f.message(5, HorizontalPodAutoscalerBehavior, "Limits and windows for scaling up and down."),
  },
  { defaults: withDefaults },
)
export interface HorizontalPodAutoscalerSpec extends ObjectOf<typeof HorizontalPodAutoscalerSpec> {}

export const HorizontalPodAutoscalerStatus = message(
  "autoscaling.v2.HorizontalPodAutoscalerStatus",
  "Last observed metrics and number of replicas.",
  {
    observedGeneration: f.int64(1, "Generation that the controller has acted on.").pointer(),
    lastScaleTime: f.time(2, "Time of the last change of the number of replicas."),
    currentReplicas: f.int32(3, "Number of replicas that it saw last."),
    desiredReplicas: f.int32(4, "Number of replicas that it wants.").default(0).printZero(),
    currentMetrics: f.list(5, MetricStatus, "Last values of the metrics.").atomic().orNull(),
    conditions: f
      .list(6, HorizontalPodAutoscalerCondition, "Whether it can scale, and does.")
      .listMap("type")
      .merge("type"),
  },
  { unchecked: true },
)
export interface HorizontalPodAutoscalerStatus extends ObjectOf<typeof HorizontalPodAutoscalerStatus> {}
