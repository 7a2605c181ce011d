import { DeploymentStrategy } from "./strategies.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"
import { PodTemplateSpec } from "../../core/v1/podtemplate/podtemplatespec.ts"

export const DeploymentSpec = message(
  "apps.v1.DeploymentSpec",
  "The pods of a Deployment, and how one version replaces another.",
  {
    replicas: f.int32(1, "Number of desired pods.").min(0).default(1).pointer(),
    selector: f
      .message(2, LabelSelector, "Which pods belong to it; must match the template's labels. Cannot be changed.")
      .required()
      .pointer()
      .ownRule(),
    template: f
      .message(3, PodTemplateSpec, "What the pods look like; restartPolicy must be Always.")
      .required()
      .ownRule(),
    strategy: f.message(4, DeploymentStrategy, "How old pods are replaced.").retainKeys().always(),
    minReadySeconds: f.int32(5, "Seconds a pod must be ready to count as available.").min(0),
    revisionHistoryLimit: f.int32(6, "How many old ReplicaSets are kept for a rollback.").min(0).default(10).pointer(),
    paused: f.bool(7, "Whether changes of the template are held back."),
    progressDeadlineSeconds: f
      .int32(9, "Seconds without progress after which a rollout counts as failed.")
      .min(0)
      .default(600)
      .pointer(),
  },
)
export interface DeploymentSpec extends ObjectOf<typeof DeploymentSpec> {}
