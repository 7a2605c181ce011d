import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"

export const CrossVersionObjectReference = message(
  "autoscaling.v1.CrossVersionObjectReference",
  "An object by its kind and name, in the namespace of the autoscaler.",
  {
    kind: f.string(1, "Kind of the object.").required().ownRule(),
    name: f.string(2, "Name of the object.").required().ownRule(),
    apiVersion: f.string(3, "Group and version of the kind."),
  },
  { mapType: "atomic" },
)
export interface CrossVersionObjectReference extends ObjectOf<typeof CrossVersionObjectReference> {}

export const HorizontalPodAutoscalerSpec = message(
  "autoscaling.v1.HorizontalPodAutoscalerSpec",
  "The workload to scale, the target and the bounds.",
  {
    scaleTargetRef: f
      .message(1, CrossVersionObjectReference, "The workload, which has a scale subresource.")
      .required(),
    minReplicas: f.int32(2, "Least number of replicas.").default(1).pointer(),
    maxReplicas: f.int32(3, "Greatest number of replicas.").required(),
    targetCPUUtilizationPercentage: f
      .int32(4, "The wanted use of the CPU as a percentage of what the pods request; 80 where no metric is given.")
      .pointer(),
  },
)
export interface HorizontalPodAutoscalerSpec extends ObjectOf<typeof HorizontalPodAutoscalerSpec> {}

export const HorizontalPodAutoscalerStatus = message(
  "autoscaling.v1.HorizontalPodAutoscalerStatus",
  "Last observed metrics and number of replicas.",
  {
    observedGeneration: f.int64(1, "Generation that the controller has acted on.").pointer(),
    lastScaleTime: f.time(2, "Time of the last change of the number of replicas."),
    currentReplicas: f.int32(3, "Number of replicas that it saw last.").default(0).printZero(),
    desiredReplicas: f.int32(4, "Number of replicas that it wants.").default(0).printZero(),
    currentCPUUtilizationPercentage: f
      .int32(5, "The use of the CPU as a percentage of what the pods request.")
      .pointer(),
  },
  { unchecked: true },
)
export interface HorizontalPodAutoscalerStatus extends ObjectOf<typeof HorizontalPodAutoscalerStatus> {}
