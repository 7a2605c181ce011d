import type { Cause } from "../../../apimachinery/errors.ts"
import { invalidValue } from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { Condition, LabelSelector } from "../../../apimachinery/meta.ts"
import { goForm } from "../../../apimachinery/go/go-form.ts"
import { conditionFaults } from "../../../apimachinery/validation/conditions.ts"
import { labelSelectorFaults } from "../../../apimachinery/selectors/labelselector.ts"
import { defineResource, type ObjectOfResource } from "../../../apimachinery/resource.ts"
import { validateCount, validatePart } from "../../core/v1/podtemplate/template-validation.ts"
import { pushAll } from "../../../lists/push-all.ts"

export const PodDisruptionBudgetSpec = message(
  "policy.v1.PodDisruptionBudgetSpec",
  "How many pods must stay when some are evicted on purpose.",
  {
    minAvailable: f.intOrString(1, "How many must stay: a number or a percentage. Excludes maxUnavailable."),
    selector: f.message(2, LabelSelector, "Which pods are meant; empty means all of the namespace.").replace(),
    maxUnavailable: f.intOrString(3, "How many may be missing: a number or a percentage. Excludes minAvailable."),
    unhealthyPodEvictionPolicy: f
      .string(4, "When pods that are not healthy may be evicted.")
      .enum("IfHealthyBudget", "AlwaysAllow")
      .pointer(),
  },
)
export interface PodDisruptionBudgetSpec extends ObjectOf<typeof PodDisruptionBudgetSpec> {}

export const PodDisruptionBudgetStatus = message(
  "policy.v1.PodDisruptionBudgetStatus",
  "The state that the controller has observed.",
  {
    observedGeneration: f.int64(1, "Generation that the controller has acted on."),
    disruptedPods: f.map(
      2,
      e.time,
      "Pods whose eviction was granted but not yet observed, with the time of the eviction.",
    ),
    disruptionsAllowed: f.int32(3, "How many pods may be evicted now.").min(0).default(0).printZero(),
    currentHealthy: f.int32(4, "Number of healthy pods.").min(0).default(0).printZero(),
    desiredHealthy: f.int32(5, "Least number of healthy pods.").min(0).default(0).printZero(),
    expectedPods: f.int32(6, "Number of pods that are counted.").min(0).default(0).printZero(),
    conditions: f.list(7, Condition, "Present state, aspect by aspect.").listMap("type").merge("type"),
  },
)
export interface PodDisruptionBudgetStatus extends ObjectOf<typeof PodDisruptionBudgetStatus> {}

export const PodDisruptionBudget = defineResource(
  {
    group: "policy",
    version: "v1",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    shortNames: ["pdb"],
    scope: "Namespaced",
    upstreamChecks: { createMetadata: false, metadataUpdate: 0 },
    generation: true,
    allowUnconditionalUpdate: false,
    doc: "Limits how many pods of a set may be evicted at a time.",
    columns: [
      {
        name: "Min Available",
        type: "string",
        doc: "Pods that must stay available, as a number or percentage.",
        value: (budget) => shown(budget.spec.minAvailable),
      },
      {
        name: "Max Unavailable",
        type: "string",
        doc: "Pods that may be unavailable, as a number or percentage.",
        value: (budget) => shown(budget.spec.maxUnavailable),
      },
      {
        name: "Allowed Disruptions",
        type: "integer",
        doc: "Number of pods that may be evicted now.",
        value: (budget) => budget.status.disruptionsAllowed,
      },
    ],
    subresources: {
      status: { validateUpdate: ({ status }) => conditionFaults("status.conditions", status.conditions) },
    },
    validateSpec({ spec }) {
      const { minAvailable, maxUnavailable, selector } = spec
      const causes: Cause[] = []
      if (minAvailable !== undefined && maxUnavailable !== undefined)
        causes.push(
          invalidValue(
            "spec",
            goForm(PodDisruptionBudgetSpec, spec),
            "minAvailable and maxUnavailable cannot be both set",
          ),
        )
      pushAll(
        causes,
        validateCount(minAvailable, "spec.minAvailable"),
        validatePart(minAvailable, "spec.minAvailable"),
        validateCount(maxUnavailable, "spec.maxUnavailable"),
        validatePart(maxUnavailable, "spec.maxUnavailable"),
      )
      return selector === undefined ? causes : [...causes, ...labelSelectorFaults("spec.selector", selector)]
    },
  },
  {
    spec: f.message(2, PodDisruptionBudgetSpec, "How many pods must stay.").always(),
    status: f.message(3, PodDisruptionBudgetStatus, "The state that the controller has observed.").always(),
  },
)
export type PodDisruptionBudget = ObjectOfResource<typeof PodDisruptionBudget>

const shown = (count: number | string | undefined): string => (count === undefined ? "N/A" : String(count))
