import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import { couldRestartAll } from "../container/container-restart.ts"
import type { PodSpec } from "../pod/podspec.ts"

/**
 * A feature that pods may need and that only some nodes support. A node declares the features that it supports in
 * `status.declaredFeatures`. Source: KEP-5328, k8s.io/component-helpers nodedeclaredfeatures.
 */
interface DeclaredFeature {
  readonly name: string
  /** Returns whether a pod can run only on a node with the feature. */
  scheduling?(spec: PodSpec): boolean
  /** Returns whether a change of a running pod needs the feature. */
  update?(spec: PodSpec, old: PodSpec): boolean
}

/** Sorted by name: upstream's messages list missing features in this order. */
const FEATURES: readonly DeclaredFeature[] = [
  {
    name: "InPlacePodLevelResourcesVerticalScaling",
    update: ({ resources }, { resources: before }) => !deepEqual(resources, before),
  },
  {
    name: "InPlacePodVerticalScalingInitContainers",
    update: ({ initContainers = [] }, { initContainers: before = [] }) =>
      before.some(
        ({ restartPolicy, resources }, i) =>
          restartPolicy !== "Always" && !deepEqual(resources, initContainers[i]?.resources),
      ),
  },
  {
    name: "RestartAllContainersOnContainerExits",
    scheduling: couldRestartAll,
  },
  {
    name: "UserNamespacesHostNetworkSupport",
    scheduling: ({ hostNetwork, hostUsers }) => hostNetwork === true && hostUsers === false,
  },
]

/** Returns the names of the features that a node must declare to get the pod. */
export function featuresToSchedule(spec: PodSpec): readonly string[] {
  // Most pods need none, and this is asked several times for each.
  let needed: string[] | undefined
  for (const { name, scheduling } of FEATURES) if (scheduling?.(spec) === true) (needed ??= []).push(name)
  return needed ?? NONE
}
const NONE: readonly string[] = []

/** Returns the names of the features that a pod's node must declare for a change of the pod. */
export const featuresToUpdate = (spec: PodSpec, old: PodSpec): readonly string[] =>
  FEATURES.filter(({ update }) => update?.(spec, old) === true).map(({ name }) => name)
