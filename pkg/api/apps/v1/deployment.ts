import { nameWarnings, templateWarnings } from "../../core/v1/podtemplate/template-warnings.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { fromLabelSelector } from "../../../apimachinery/selectors/labels.ts"
import { defineResource, type KubeObject, type ObjectOfResource } from "../../../apimachinery/resource.ts"
import { selectorText, templateColumns } from "../../core/v1/podtemplate/template-columns.ts"
import { rollbackFaults, selectorIsFixed, validateDeploymentSpec } from "./workload-validation.ts"
import { collisionFaults, replicaFaults } from "./status-validation.ts"
import { DeploymentSpec } from "./deploymentspec.ts"

export const DeploymentCondition = message(
  "apps.v1.DeploymentCondition",
  "One aspect of a deployment's present state.",
  {
    type: f.string(1, "Name of the aspect.").printZero(),
    status: f.string(2, "True, False or Unknown.").printZero(),
    lastUpdateTime: f.time(6, "When the condition was last updated.").orNull(),
    lastTransitionTime: f.time(7, "When the status last changed.").orNull(),
    reason: f.string(4, "Reason of the last change, one word in CamelCase."),
    message: f.string(5, "The reason in words."),
  },
)
export interface DeploymentCondition extends ObjectOf<typeof DeploymentCondition> {}

export const DeploymentStatus = message("apps.v1.DeploymentStatus", "The state that the controller has observed.", {
  observedGeneration: f.int64(1, "Generation that the controller has acted on.").min(0),
  replicas: f.int32(2, "Number of pods, old and new.").min(0),
  updatedReplicas: f.int32(3, "Number of pods of the present template.").min(0),
  readyReplicas: f.int32(7, "Number of ready pods.").min(0),
  availableReplicas: f.int32(4, "Number of available pods.").min(0),
  unavailableReplicas: f.int32(5, "Number of desired pods that are not available yet.").min(0),
  terminatingReplicas: f.int32(9, "Number of pods that are ending.").min(0).pointer(),
  conditions: f.list(6, DeploymentCondition, "Present state, aspect by aspect.").listMap("type").merge("type"),
  collisionCount: f.int32(8, "Counts name collisions of new ReplicaSets.").min(0).pointer(),
})
export interface DeploymentStatus extends ObjectOf<typeof DeploymentStatus> {}

export const Deployment = defineResource(
  {
    group: "apps",
    version: "v1",
    kind: "Deployment",
    plural: "deployments",
    shortNames: ["deploy"],
    categories: ["all"],
    scope: "Namespaced",
    podTemplate: "spec.template",
    // Annotations are copied to the ReplicaSets, so a change of them must be observed too.
    generation: {
      counts: ({ metadata, spec }, old) =>
        !deepEqual(spec, old.spec) || !deepEqual(metadata.annotations ?? {}, old.metadata.annotations ?? {}),
    },
    doc: "Keeps a number of pods running and brings them from one version to the next.",
    columns: [
      {
        name: "Ready",
        type: "string",
        doc: "Ready pods of the desired ones.",
        value: (deployment) => `${deployment.status.readyReplicas ?? 0}/${deployment.spec.replicas}`,
      },
      {
        name: "Up-to-date",
        type: "string",
        doc: "Number of pods of the present template.",
        value: (deployment) => deployment.status.updatedReplicas ?? 0,
      },
      {
        name: "Available",
        type: "string",
        doc: "Number of available pods.",
        value: (deployment) => deployment.status.availableReplicas ?? 0,
      },
      ...templateColumns<KubeObject & { readonly spec: DeploymentSpec }>(
        (deployment) => deployment.spec.template.spec,
        (deployment) => selectorText(deployment.spec.selector),
      ),
    ],
    subresources: {
      status: {
        resets: [["spec"], ["metadata", "labels"]],
        prepareForUpdate: (deployment, old) => ({
          ...deployment,
          metadata: { ...deployment.metadata, labels: old.metadata.labels },
        }),
        validateUpdate: ({ status }, old) => [
          ...replicaFaults(status, ["updatedReplicas", "readyReplicas", "availableReplicas"], "readyReplicas"),
          ...collisionFaults(status, old.status),
        ],
      },
      scale: {
        specReplicas: "spec.replicas",
        statusReplicas: "status.replicas",
        selector: (deployment) => fromLabelSelector(deployment.spec.selector).toString(),
      },
    },
    warnings: (deployment, old) => [
      ...(old === undefined ? nameWarnings(deployment) : []),
      ...templateWarnings(deployment, old, deployment.spec.template),
    ],
    validateSpec: ({ spec }) => validateDeploymentSpec(spec),
    validate: ({ metadata }) => rollbackFaults(metadata.annotations),
    validateSpecUpdate: ({ spec }, old) => selectorIsFixed(spec, old.spec),
  },
  {
    spec: f.message(2, DeploymentSpec, "Which pods are wanted.").always(),
    status: f.message(3, DeploymentStatus, "The state that the controller has observed.").always(),
  },
)
export type Deployment = ObjectOfResource<typeof Deployment>
