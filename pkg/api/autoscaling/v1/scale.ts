import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectOfResource } from "../../../apimachinery/resource.ts"

export const ScaleSpec = message("autoscaling.v1.ScaleSpec", "The wanted size.", {
  replicas: f.int32(1, "Number of desired pods.").min(0),
})
export interface ScaleSpec extends ObjectOf<typeof ScaleSpec> {}

export const ScaleStatus = message("autoscaling.v1.ScaleStatus", "The present size.", {
  replicas: f.int32(1, "Number of pods.").default(0).printZero(),
  selector: f.string(2, "Which pods are counted, as a label query."),
})
export interface ScaleStatus extends ObjectOf<typeof ScaleStatus> {}

/** The number of replicas of a workload, as its `scale` subresource shows it; never stored. */
export const Scale = defineResource(
  {
    group: "autoscaling",
    version: "v1",
    kind: "Scale",
    plural: "scales",
    scope: "Namespaced",
    verbs: [],
    doc: "The wanted and the present size of a workload.",
    columns: [
      { name: "Desired", type: "integer", doc: "Number of desired pods.", value: ({ spec }) => spec.replicas ?? 0 },
      { name: "Available", type: "integer", doc: "Number of pods.", value: ({ status }) => status.replicas },
    ],
  },
  {
    spec: f.message(2, ScaleSpec, "The wanted size.").always(),
    status: f.message(3, ScaleStatus, "The present size.").always(),
  },
)
export type Scale = ObjectOfResource<typeof Scale>
