import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import { couldRestartAll } from "../container/container-restart.ts"
import type { PodSpec } from "../pod/podspec.ts"

/**
 * What pods may need of a node that only some nodes can do. A node declares what it can do in
 * `status.declaredFeatures`. Source: KEP-5328, k8s.io/component-helpers nodedeclaredfeatures.
 */
interface DeclaredFeature {
  readonly name: string
  /** Whether a pod can only run on a node with the feature. */
  scheduling?(spec: PodSpec): boolean
  /** Whether a change of a running pod needs the feature. */
  update?(spec: PodSpec, old: PodSpec): boolean
}

/** Sorted by name, as upstream tells those that are missing. */
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
export const featuresToSchedule = (spec: PodSpec): readonly string[] =>
  FEATURES.filter(({ scheduling }) => scheduling?.(spec) === true).map(({ name }) => name)

/** Returns the names of the features that a pod's node must declare for a change of the pod. */
export const featuresToUpdate = (spec: PodSpec, old: PodSpec): readonly string[] =>
  FEATURES.filter(({ update }) => update?.(spec, old) === true).map(({ name }) => name)
