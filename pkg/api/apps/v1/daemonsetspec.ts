import { DaemonSetUpdateStrategy } from "./strategies.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"
import { PodTemplateSpec } from "../../core/v1/podtemplate/podtemplatespec.ts"

export const DaemonSetSpec = message("apps.v1.DaemonSetSpec", "Which pod is wanted on every node.", {
  selector: f
    .message(1, LabelSelector, "Which pods belong to it; must match the template's labels. Cannot be changed.")
    .required()
    .pointer()
    .ownRule(),
  template: f.message(2, PodTemplateSpec, "Template of the pods.").required().ownRule(),
  updateStrategy: f.message(3, DaemonSetUpdateStrategy, "How old pods are replaced.").always(),
  minReadySeconds: f.int32(4, "Seconds a pod must be ready to count as available.").min(0),
  revisionHistoryLimit: f.int32(6, "How many old revisions are kept.").min(0).default(10).pointer(),
})
export interface DaemonSetSpec extends ObjectOf<typeof DaemonSetSpec> {}
