import { nameWarnings, templateWarnings } from "./podtemplate/template-warnings.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { required } from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { fromLabels, type Labels } from "../../../apimachinery/selectors/labels.ts"
import { defineResource, type KubeObject, type ObjectOfResource } from "../../../apimachinery/resource.ts"
import { PodTemplateSpec } from "./podtemplate/podtemplatespec.ts"
import { labelsText, templateColumns } from "./podtemplate/template-columns.ts"
import {
  requiredSelector,
  validateEndless,
  validateMatches,
  validateTemplate,
} from "./podtemplate/template-validation.ts"
import { replicaFaults } from "../../apps/v1/status-validation.ts"

export const ReplicationControllerSpec = message(
  "core.v1.ReplicationControllerSpec",
  "The number of pods, and their template.",
  {
    replicas: f.int32(1, "Number of desired pods.").min(0).default(1).pointer(),
    minReadySeconds: f.int32(4, "Seconds a pod must be ready to count as available.").min(0),
    selector: f.map(2, e.string, "Labels of the pods that are counted; the template's unless given.").atomic(),
    template: f.message(3, PodTemplateSpec, "What new pods look like.").ownRule(),
  },
)
export interface ReplicationControllerSpec extends ObjectOf<typeof ReplicationControllerSpec> {}

export const ReplicationControllerCondition = message(
  "core.v1.ReplicationControllerCondition",
  "One aspect of the controller's present state.",
  {
    type: f.string(1, "Name of the aspect.").printZero(),
    status: f.string(2, "True, False or Unknown.").printZero(),
    lastTransitionTime: f.time(3, "When the status last changed.").orNull(),
    reason: f.string(4, "Reason of the last change, one word in CamelCase."),
    message: f.string(5, "The reason in words."),
  },
)
export interface ReplicationControllerCondition extends ObjectOf<typeof ReplicationControllerCondition> {}

export const ReplicationControllerStatus = message(
  "core.v1.ReplicationControllerStatus",
  "The state that the controller has observed.",
  {
    replicas: f.int32(1, "Number of pods.").min(0).default(0).printZero(),
    fullyLabeledReplicas: f.int32(2, "Number of pods with all labels of the template.").min(0),
    readyReplicas: f.int32(4, "Number of ready pods.").min(0),
    availableReplicas: f.int32(5, "Number of available pods.").min(0),
    observedGeneration: f.int64(3, "Generation that the controller has acted on.").min(0),
    conditions: f
      .list(6, ReplicationControllerCondition, "Present state, aspect by aspect.")
      .listMap("type")
      .merge("type"),
  },
)
export interface ReplicationControllerStatus extends ObjectOf<typeof ReplicationControllerStatus> {}

export const ReplicationController = defineResource(
  {
    group: "",
    version: "v1",
    kind: "ReplicationController",
    plural: "replicationcontrollers",
    shortNames: ["rc"],
    categories: ["all"],
    scope: "Namespaced",
    podTemplate: "spec.template",
    generation: true,
    upstreamChecks: { generateName: false },
    defaultGarbageCollectionPolicy: "OrphanDependents",
    doc: "Keeps a number of pods running; Deployments have taken its place.",
    columns: [
      { name: "Desired", type: "integer", doc: "Number of desired pods.", value: (rc) => rc.spec.replicas },
      { name: "Current", type: "integer", doc: "Number of pods.", value: (rc) => rc.status.replicas },
      { name: "Ready", type: "integer", doc: "Number of ready pods.", value: (rc) => rc.status.readyReplicas ?? 0 },
      ...templateColumns<KubeObject & { readonly spec: ReplicationControllerSpec }>(
        (rc) => rc.spec.template?.spec,
        (rc) => labelsText(rc.spec.selector),
      ),
    ],
    fieldSelectors: { "status.replicas": (rc) => String(rc.status.replicas) },
    subresources: {
      status: {
        validateUpdate: ({ status }) =>
          replicaFaults(status, ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"], "readyReplicas"),
      },
      scale: {
        specReplicas: "spec.replicas",
        statusReplicas: "status.replicas",
        selector: (rc) => fromLabels(rc.spec.selector).toString(),
      },
    },
    // When the template has changed, upstream warns about the old one.
    warnings: (rc, old) => [
      ...(old === undefined ? nameWarnings(rc) : []),
      ...templateWarnings(rc, old, (old ?? rc).spec.template),
    ],
    validateSpec({ spec: { selector, template } }) {
      const causes: Cause[] = [...requiredSelector(selector, "spec.selector")]
      if (template === undefined) return [...causes, required("spec.template")]
      return [
        ...causes,
        ...validateMatches(fromLabels(selector), template, "spec.template"),
        ...validateTemplate(template, "spec.template"),
        ...validateEndless(template, "ReplicationController", "spec.template"),
      ]
    },
    // Selector and labels default to the template's labels. Source: SetDefaults_ReplicationController.
    defaults(rc) {
      const labels = rc.spec.template?.metadata.labels
      if (labels === undefined) return rc
      const { metadata, spec } = rc
      const [hasSelector, hasLabels] = [!isEmpty(spec.selector), !isEmpty(metadata.labels)]
      if (hasSelector && hasLabels) return rc
      return {
        ...rc,
        metadata: hasLabels ? metadata : { ...metadata, labels },
        spec: hasSelector ? spec : { ...spec, selector: labels },
      }
    },
  },
  {
    spec: f.message(2, ReplicationControllerSpec, "The number of pods, and their template.").always(),
    status: f.message(3, ReplicationControllerStatus, "The state that the controller has observed.").always(),
  },
)
export type ReplicationController = ObjectOfResource<typeof ReplicationController>

const isEmpty = (map: Labels | undefined): boolean => map === undefined || Object.keys(map).length === 0
