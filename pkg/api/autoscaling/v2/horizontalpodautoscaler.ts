import { f } from "../../../apimachinery/fields.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { autoscalerFaults, autoscalerStatusFaults } from "./horizontalpodautoscaler-validation.ts"
import { autoscalerColumns } from "./horizontalpodautoscaler-columns.ts"
import { HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus } from "./horizontalpodautoscalerspec.ts"

/**
 * Source: k8s.io/api autoscaling/v2/types.go, pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go,
 * pkg/apis/autoscaling/v2/defaults.go.
 */

const fields = {
  spec: f.message(2, HorizontalPodAutoscalerSpec, "The workload to scale, and the metrics.").required().ownRule(),
  status: f.message(3, HorizontalPodAutoscalerStatus, "Last observed metrics and number of replicas.").always(),
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
    doc: "Sets the number of a workload's replicas according to metrics.",
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
