import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import {
  daemonSetStrategyDefaults,
  deploymentStrategyDefaults,
  statefulSetStrategyDefaults,
} from "./strategy-defaults.ts"

/** How workloads replace old pods with new ones. Source: k8s.io/api apps/v1/types.go. */

export const RollingUpdateDeployment = message(
  "apps.v1.RollingUpdateDeployment",
  "How pods are replaced step by step.",
  {
    maxUnavailable: f.intOrString(
      1,
      "How many pods may be missing: a number, or a percentage of the replicas rounded down.",
    ),
    maxSurge: f.intOrString(
      2,
      "How many pods there may be in excess: a number, or a percentage of the replicas rounded up.",
    ),
  },
)
export interface RollingUpdateDeployment extends ObjectOf<typeof RollingUpdateDeployment> {}

export const DeploymentStrategy = message(
  "apps.v1.DeploymentStrategy",
  "How old pods are replaced by new ones.",
  {
    type: f
      .string(1, "RollingUpdate, or Recreate, which ends all old pods first.")
      .enum("Recreate", "RollingUpdate")
      .ownRule()
      .default("RollingUpdate"),
    rollingUpdate: f.message(2, RollingUpdateDeployment, "Only for RollingUpdate."),
  },
  { defaults: deploymentStrategyDefaults },
)
export interface DeploymentStrategy extends ObjectOf<typeof DeploymentStrategy> {}

export const RollingUpdateDaemonSet = message("apps.v1.RollingUpdateDaemonSet", "How pods are replaced step by step.", {
  maxUnavailable: f.intOrString(1, "On how many nodes the pod may be missing: a number, or a percentage rounded up."),
  maxSurge: f.intOrString(
    2,
    "On how many nodes a new pod may run together with the old one: a number, or a percentage rounded up.",
  ),
})
export interface RollingUpdateDaemonSet extends ObjectOf<typeof RollingUpdateDaemonSet> {}

export const DaemonSetUpdateStrategy = message(
  "apps.v1.DaemonSetUpdateStrategy",
  "How old pods are replaced by new ones.",
  {
    type: f
      .string(1, "RollingUpdate, or OnDelete, which waits until someone deletes the old pods.")
      .enum("RollingUpdate", "OnDelete")
      .ownRule()
      .default("RollingUpdate"),
    rollingUpdate: f.message(2, RollingUpdateDaemonSet, "Only for RollingUpdate."),
  },
  { defaults: daemonSetStrategyDefaults },
)
export interface DaemonSetUpdateStrategy extends ObjectOf<typeof DaemonSetUpdateStrategy> {}

export const RollingUpdateStatefulSetStrategy = message(
  "apps.v1.RollingUpdateStatefulSetStrategy",
  "How pods are replaced step by step.",
  {
    partition: f.int32(1, "Pods with a lower ordinal keep the old version.").min(0).default(0).pointer(),
    maxUnavailable: f.intOrString(2, "How many pods may be missing: a number, or a percentage rounded up."),
  },
)
export interface RollingUpdateStatefulSetStrategy extends ObjectOf<typeof RollingUpdateStatefulSetStrategy> {}

export const StatefulSetUpdateStrategy = message(
  "apps.v1.StatefulSetUpdateStrategy",
  "How old pods are replaced by new ones.",
  {
    type: f
      .string(1, "RollingUpdate, or OnDelete, which waits until someone deletes the old pods.")
      .enum("RollingUpdate", "OnDelete")
      .ownRule(),
    rollingUpdate: f.message(2, RollingUpdateStatefulSetStrategy, "Only for RollingUpdate."),
  },
  { defaults: statefulSetStrategyDefaults },
)
export interface StatefulSetUpdateStrategy extends ObjectOf<typeof StatefulSetUpdateStrategy> {}
