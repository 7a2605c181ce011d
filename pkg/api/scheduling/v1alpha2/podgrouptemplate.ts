import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"

/**
 * What a PodGroup and a template of one in a Workload have in common. Source: k8s.io/api scheduling/v1alpha2/types.go.
 * Rules of single fields are in podgroup-validation.ts, with the words of upstream's declarative validation.
 */

export const BasicSchedulingPolicy = message(
  "scheduling.v1alpha2.BasicSchedulingPolicy",
  "The pods are scheduled as pods without a group.",
  {},
)

export const GangSchedulingPolicy = message(
  "scheduling.v1alpha2.GangSchedulingPolicy",
  "The pods are scheduled together or not at all.",
  {
    minCount: f
      .int32(1, "How many pods must find a node at the same time before any of them gets one.")
      .required()
      .ownRule(),
  },
)

export const PodGroupSchedulingPolicy = message(
  "scheduling.v1alpha2.PodGroupSchedulingPolicy",
  "How the pods of a group are scheduled. Exactly one field is set.",
  {
    basic: f.message(1, BasicSchedulingPolicy, "Each pod on its own."),
    gang: f.message(2, GangSchedulingPolicy, "A least number of pods together."),
  },
  { unions: [{ fields: ["basic", "gang"] }] },
)
export interface PodGroupSchedulingPolicy extends ObjectOf<typeof PodGroupSchedulingPolicy> {}

export const TopologyConstraint = message(
  "scheduling.v1alpha2.TopologyConstraint",
  "All pods of the group run in one domain of a topology.",
  { key: f.string(1, "Label of nodes whose value names the domain.").required().ownRule() },
)

export const PodGroupSchedulingConstraints = message(
  "scheduling.v1alpha2.PodGroupSchedulingConstraints",
  "Where the pods of a group may run.",
  { topology: f.list(1, TopologyConstraint, "One domain for all pods; at most one entry.").atomic() },
)
export interface PodGroupSchedulingConstraints extends ObjectOf<typeof PodGroupSchedulingConstraints> {}

export const PodGroupResourceClaim = message(
  "scheduling.v1alpha2.PodGroupResourceClaim",
  "A claim of devices that the pods of the group share.",
  {
    name: f.string(1, "Name of the claim in the group and in its pods.").required().ownRule(),
    resourceClaimName: f.string(2, "An existing claim.").pointer(),
    resourceClaimTemplateName: f.string(3, "A template from which a claim is made for the group.").pointer(),
  },
)
export interface PodGroupResourceClaim extends ObjectOf<typeof PodGroupResourceClaim> {}

/** How the pods of a group are taken away: one by one, or all at once. */
export const DISRUPTION_MODES = ["Pod", "PodGroup"] as const
