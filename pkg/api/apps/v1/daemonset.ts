import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { templateWarnings } from "../../core/v1/podtemplate/template-warnings.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type KubeObject, type ObjectOfResource } from "../../../apimachinery/resource.ts"
import { labelsText, selectorText, templateColumns } from "../../core/v1/podtemplate/template-columns.ts"
import { firstTemplateGeneration, nextTemplateGeneration, withTemplateGeneration } from "./template-generation.ts"
import { selectorIsFixed, validateDaemonSetSpec } from "./workload-validation.ts"
import { collisionFaults } from "./status-validation.ts"
import { DaemonSetSpec } from "./daemonsetspec.ts"

export const DaemonSetCondition = message("apps.v1.DaemonSetCondition", "One aspect of a daemon set's present state.", {
  type: f.string(1, "Name of the aspect.").printZero(),
  status: f.string(2, "True, False or Unknown.").printZero(),
  lastTransitionTime: f.time(3, "When the status last changed.").orNull(),
  reason: f.string(4, "Reason of the last change, one word in CamelCase."),
  message: f.string(5, "The reason in words."),
})
export interface DaemonSetCondition extends ObjectOf<typeof DaemonSetCondition> {}

export const DaemonSetStatus = message("apps.v1.DaemonSetStatus", "The state that the controller has observed.", {
  currentNumberScheduled: f.int32(1, "Nodes that run the pod and should.").min(0).default(0).printZero(),
  numberMisscheduled: f.int32(2, "Nodes that run the pod and should not.").min(0).default(0).printZero(),
  desiredNumberScheduled: f.int32(3, "Nodes that should run the pod.").min(0).default(0).printZero(),
  numberReady: f.int32(4, "Nodes on which the pod is ready.").min(0).default(0).printZero(),
  observedGeneration: f.int64(5, "Generation that the controller has acted on.").min(0),
  updatedNumberScheduled: f.int32(6, "Nodes that run the present version.").min(0),
  numberAvailable: f.int32(7, "Nodes on which the pod is available.").min(0),
  numberUnavailable: f.int32(8, "Nodes that should run the pod and on which it is not available.").min(0),
  collisionCount: f.int32(9, "Counts name collisions of new revisions.").min(0).pointer(),
  conditions: f.list(10, DaemonSetCondition, "Present state, aspect by aspect.").listMap("type").merge("type"),
})
export interface DaemonSetStatus extends ObjectOf<typeof DaemonSetStatus> {}

export const DaemonSet = defineResource(
  {
    group: "apps",
    version: "v1",
    kind: "DaemonSet",
    plural: "daemonsets",
    shortNames: ["ds"],
    categories: ["all"],
    scope: "Namespaced",
    podTemplate: "spec.template",
    generation: true,
    doc: "Keeps a pod running on every node, or on every node of a kind.",
    columns: [
      {
        name: "Desired",
        type: "integer",
        doc: "Number of nodes that should run the pod.",
        value: (set) => set.status.desiredNumberScheduled,
      },
      {
        name: "Current",
        type: "integer",
        doc: "Number of nodes that run the pod as they should.",
        value: (set) => set.status.currentNumberScheduled,
      },
      {
        name: "Ready",
        type: "integer",
        doc: "Number of nodes on which the pod is ready.",
        value: (set) => set.status.numberReady,
      },
      {
        name: "Up-to-date",
        type: "integer",
        doc: "Number of nodes that run the pod of the current template.",
        value: (set) => set.status.updatedNumberScheduled ?? 0,
      },
      {
        name: "Available",
        type: "integer",
        doc: "Number of nodes on which the pod is available.",
        value: (set) => set.status.numberAvailable ?? 0,
      },
      {
        name: "Node Selector",
        type: "string",
        doc: "Labels that the nodes must have.",
        value: (set) => labelsText(set.spec.template.spec.nodeSelector),
      },
      ...templateColumns<KubeObject & { readonly spec: DaemonSetSpec }>(
        (set) => set.spec.template.spec,
        (set) => selectorText(set.spec.selector),
      ),
    ],
    defaults: (set, known) => (set.metadata === known?.metadata ? set : withTemplateGeneration(set)),
    prepareForCreate: (set) => firstTemplateGeneration(set),
    prepareForUpdate: (set, old) => nextTemplateGeneration(set, old),
    subresources: {
      status: {
        prepareForUpdate: (set, old) => nextTemplateGeneration(set, old),
        validateUpdate: ({ status }, old) => collisionFaults(status, old.status),
      },
    },
    warnings: (set, old) =>
      old !== undefined && deepEqual(set.spec.template, old.spec.template)
        ? []
        : templateWarnings(set, undefined, set.spec.template),
    validateSpec: ({ spec }) => validateDaemonSetSpec(spec),
    validateSpecUpdate: ({ spec }, old) => selectorIsFixed(spec, old.spec),
  },
  {
    spec: f.message(2, DaemonSetSpec, "Which pod is wanted.").always(),
    status: f.message(3, DaemonSetStatus, "The state that the controller has observed.").always(),
  },
)
export type DaemonSet = ObjectOfResource<typeof DaemonSet>
