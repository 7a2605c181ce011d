import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"
import { PodTemplateSpec } from "../../core/v1/podtemplate/podtemplatespec.ts"

export const ReplicaSetSpec = message("apps.v1.ReplicaSetSpec", "The number of pods, and their template.", {
  replicas: f.int32(1, "Number of desired pods.").min(0).default(1).pointer(),
  minReadySeconds: f.int32(4, "Seconds a pod must be ready to count as available.").min(0),
  selector: f
    .message(2, LabelSelector, "Which pods are counted; must match the template's labels. Cannot be changed.")
    .required()
    .pointer()
    .ownRule(),
  template: f.message(3, PodTemplateSpec, "Template of new pods.").always().ownRule(),
})
export interface ReplicaSetSpec extends ObjectOf<typeof ReplicaSetSpec> {}
