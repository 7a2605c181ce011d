import { e, f, message, type ObjectOf } from "../../../../../apimachinery/fields.ts"
import { LabelSelector } from "../../../../../apimachinery/meta.ts"

export const NodeSelectorRequirement = message(
  "core.v1.NodeSelectorRequirement",
  "One condition on a node's label or field.",
  {
    key: f.string(1, "Label key or field that the condition is about.").required().printZero().ownRule(),
    operator: f
      .string(2, "How the key relates to the values.")
      .required()
      .enum("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
      .ownRule(),
    values: f.list(3, e.string, "Values for In and NotIn, one number for Gt and Lt, none for the others.").atomic(),
  },
)
export interface NodeSelectorRequirement extends ObjectOf<typeof NodeSelectorRequirement> {}

export const NodeSelectorTerm = message(
  "core.v1.NodeSelectorTerm",
  "Conditions that must all be true; a term without conditions matches no node.",
  {
    matchExpressions: f.list(1, NodeSelectorRequirement, "Conditions on labels.").atomic(),
    matchFields: f.list(2, NodeSelectorRequirement, "Conditions on fields; only metadata.name is known.").atomic(),
  },
  { mapType: "atomic" },
)
export interface NodeSelectorTerm extends ObjectOf<typeof NodeSelectorTerm> {}

export const NodeSelector = message(
  "core.v1.NodeSelector",
  "Terms of which one must match.",
  {
    nodeSelectorTerms: f
      .list(1, NodeSelectorTerm, "The terms.")
      .required("must have at least one node selector term")
      .atomic(),
  },
  { mapType: "atomic" },
)
export interface NodeSelector extends ObjectOf<typeof NodeSelector> {}

export const PreferredSchedulingTerm = message(
  "core.v1.PreferredSchedulingTerm",
  "A preference about nodes; an empty preference matches every node.",
  {
    weight: f.int32(1, "Weight of the preference, 1 to 100.").required(),
    preference: f.message(2, NodeSelectorTerm, "The nodes that are preferred.").required(),
  },
)
export interface PreferredSchedulingTerm extends ObjectOf<typeof PreferredSchedulingTerm> {}

export const NodeAffinity = message("core.v1.NodeAffinity", "Rules about the node a pod runs on.", {
  requiredDuringSchedulingIgnoredDuringExecution: f.message(1, NodeSelector, "What a node must fulfil."),
  preferredDuringSchedulingIgnoredDuringExecution: f
    .list(2, PreferredSchedulingTerm, "What is preferred; weights of matching terms add up.")
    .atomic(),
})
export interface NodeAffinity extends ObjectOf<typeof NodeAffinity> {}

export const PodAffinityTerm = message(
  "core.v1.PodAffinityTerm",
  "A set of pods, and the topology in which to be near them or away from them.",
  {
    labelSelector: f.message(1, LabelSelector, "Which pods are meant; absent means none."),
    namespaces: f
      .list(2, e.string, "Namespaces of those pods; the own one when this and namespaceSelector are absent.")
      .atomic(),
    topologyKey: f.string(3, "Node label whose equal value makes nodes one place.").required().ownRule(),
    namespaceSelector: f.message(4, LabelSelector, "Namespaces of those pods by their labels; empty means all."),
    matchLabelKeys: f
      .list(5, e.string, "Label keys whose values are taken from the new pod and must be equal.")
      .atomic(),
    mismatchLabelKeys: f
      .list(6, e.string, "Label keys whose values are taken from the new pod and must differ.")
      .atomic(),
  },
)
export interface PodAffinityTerm extends ObjectOf<typeof PodAffinityTerm> {}

export const WeightedPodAffinityTerm = message("core.v1.WeightedPodAffinityTerm", "A preference about other pods.", {
  weight: f.int32(1, "Weight of the preference, 1 to 100.").required(),
  podAffinityTerm: f.message(2, PodAffinityTerm, "The pods and the topology.").required(),
})
export interface WeightedPodAffinityTerm extends ObjectOf<typeof WeightedPodAffinityTerm> {}

export const PodAffinity = message("core.v1.PodAffinity", "Near which pods to run.", {
  requiredDuringSchedulingIgnoredDuringExecution: f.list(1, PodAffinityTerm, "What must be fulfilled.").atomic(),
  preferredDuringSchedulingIgnoredDuringExecution: f.list(2, WeightedPodAffinityTerm, "What is preferred.").atomic(),
})
export interface PodAffinity extends ObjectOf<typeof PodAffinity> {}

export const PodAntiAffinity = message("core.v1.PodAntiAffinity", "Away from which pods to run.", {
  requiredDuringSchedulingIgnoredDuringExecution: f.list(1, PodAffinityTerm, "What must be fulfilled.").atomic(),
  preferredDuringSchedulingIgnoredDuringExecution: f.list(2, WeightedPodAffinityTerm, "What is preferred.").atomic(),
})
export interface PodAntiAffinity extends ObjectOf<typeof PodAntiAffinity> {}

export const Affinity = message(
  "core.v1.Affinity",
  "Rules and preferences about the nodes of a pod, and about other pods near it.",
  {
    nodeAffinity: f.message(1, NodeAffinity, "Rules about nodes."),
    podAffinity: f.message(2, PodAffinity, "Pods to be near."),
    podAntiAffinity: f.message(3, PodAntiAffinity, "Pods to be away from."),
  },
)
export interface Affinity extends ObjectOf<typeof Affinity> {}
