import { f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { ObjectMeta } from "../../../../apimachinery/meta.ts"
import { PodSpec } from "../pod/podspec.ts"

export const PodTemplateSpec = message("core.v1.PodTemplateSpec", "The template of a controller's pods.", {
  metadata: f.message(1, ObjectMeta, "Labels and annotations of the pods.").always().ownRule(),
  spec: f.message(2, PodSpec, "What the pods run.").always(),
})
export interface PodTemplateSpec extends ObjectOf<typeof PodTemplateSpec> {}
