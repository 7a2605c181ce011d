import { e, f, message, type ObjectOf } from "../../../../../apimachinery/fields.ts"
import { LabelSelector } from "../../../../../apimachinery/meta.ts"

export const Toleration = message(
  "core.v1.Toleration",
  "Lets a pod run on nodes with the taints that the toleration matches.",
  {
    key: f.string(1, "Taint key; empty matches every key and needs the operator Exists."),
    operator: f
      .string(2, "Equal unless given; Exists matches every value, Lt and Gt compare numbers.")
      .enum("Equal", "Exists", "Lt", "Gt")
      .ownRule(),
    value: f.string(3, "Taint value for Equal, Lt and Gt."),
    effect: f
      .string(4, "Effect of the taint; absent means any.")
      .enum("NoSchedule", "PreferNoSchedule", "NoExecute")
      .inOrder(),
    tolerationSeconds: f.int64(5, "How long a NoExecute taint is tolerated; for ever unless given.").pointer(),
  },
)
export interface Toleration extends ObjectOf<typeof Toleration> {}

export const TopologySpreadConstraint = message(
  "core.v1.TopologySpreadConstraint",
  "How evenly matching pods are spread over a topology.",
  {
    maxSkew: f.int32(1, "Largest allowed difference of pod counts.").required(),
    topologyKey: f.string(2, "Node label whose values are the domains.").required("can not be empty"),
    whenUnsatisfiable: f
      .string(3, "What to do when the spread cannot be kept.")
      .required()
      .enum("DoNotSchedule", "ScheduleAnyway")
      .ownRule(),
    labelSelector: f.message(4, LabelSelector, "Which pods count."),
    minDomains: f.int32(5, "Fewest domains below which the lowest count is taken as zero.").pointer(),
    nodeAffinityPolicy: f
      .string(6, "Whether nodes outside the pod's node affinity count; Honor leaves them out.")
      .enum("Honor", "Ignore")
      .pointer(),
    nodeTaintsPolicy: f
      .string(7, "Whether nodes with taints the pod does not tolerate count; Ignore counts them.")
      .enum("Honor", "Ignore")
      .pointer(),
    matchLabelKeys: f
      .list(8, e.string, "Label keys whose values are taken from the new pod and must be equal.")
      .atomic(),
  },
)
export interface TopologySpreadConstraint extends ObjectOf<typeof TopologySpreadConstraint> {}
