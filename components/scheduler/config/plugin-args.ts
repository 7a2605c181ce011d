/**
 * The arguments of plugins in a KubeSchedulerConfiguration. Source: kube-scheduler config/v1 types_pluginargs.go;
 * defaults in pkg/scheduler/apis/config/v1/defaults.go.
 */
import { NodeAffinity } from "../../../pkg/api/core/v1/pod/scheduling/affinity.ts"
import { TopologySpreadConstraint } from "../../../pkg/api/core/v1/pod/scheduling/tolerations.ts"
import { e, f, message, type ObjectOf } from "../../../pkg/apimachinery/fields.ts"
import type { Message } from "../../../pkg/apimachinery/field-spec.ts"

const PACKAGE = "io.k8s.kube-scheduler.config.v1"

export const ResourceSpec = message(`${PACKAGE}.ResourceSpec`, "A resource, with its weight in a score.", {
  name: f.string(1, "Name of the resource.").required(),
  weight: f.int64(2, "Weight of the resource, 1 to 100; 1 unless given.").default(0),
})
export interface ResourceSpec extends ObjectOf<typeof ResourceSpec> {}

export const UtilizationShapePoint = message(
  `${PACKAGE}.UtilizationShapePoint`,
  "The score of a node that is used to a certain part.",
  {
    utilization: f.int32(1, "Used part in percent.").default(0),
    score: f.int32(2, "Score from 0 to 10.").default(0),
  },
)
export interface UtilizationShapePoint extends ObjectOf<typeof UtilizationShapePoint> {}

const ScoringStrategy = message(`${PACKAGE}.ScoringStrategy`, "How nodes are ranked by their resources.", {
  type: f.string(1, "LeastAllocated, MostAllocated or RequestedToCapacityRatio.").default(""),
  resources: f.list(2, ResourceSpec, "The resources that count; cpu and memory unless given."),
  requestedToCapacityRatio: f.message(
    3,
    message(`${PACKAGE}.RequestedToCapacityRatioParam`, "A score by the used part of a resource.", {
      shape: f.list(1, UtilizationShapePoint, "Points of the function, by rising utilization."),
    }),
    "The function for RequestedToCapacityRatio.",
  ),
})
export interface ScoringStrategy extends ObjectOf<typeof ScoringStrategy> {}

export const DefaultPreemptionArgs = message(`${PACKAGE}.DefaultPreemptionArgs`, "How many nodes preemption tries.", {
  minCandidateNodesPercentage: f
    .int32(1, "Part of the nodes that is tried at least, in percent.")
    .pointer()
    .default(10),
  minCandidateNodesAbsolute: f.int32(2, "How many nodes are tried at least.").pointer().default(100),
})
export interface DefaultPreemptionArgs extends ObjectOf<typeof DefaultPreemptionArgs> {}

export const InterPodAffinityArgs = message(`${PACKAGE}.InterPodAffinityArgs`, "How pods attract other pods.", {
  hardPodAffinityWeight: f.int32(1, "Weight of an existing pod's required affinity, 0 to 100.").pointer().default(1),
  ignorePreferredTermsOfExistingPods: f
    .bool(2, "Whether preferences of existing pods are left out for pods that have none themselves.")
    .default(false),
})
export interface InterPodAffinityArgs extends ObjectOf<typeof InterPodAffinityArgs> {}

export const NodeAffinityArgs = message(`${PACKAGE}.NodeAffinityArgs`, "An affinity of every pod of the profile.", {
  addedAffinity: f.message(1, NodeAffinity, "Applies beside the affinity of the pod itself."),
})
export interface NodeAffinityArgs extends ObjectOf<typeof NodeAffinityArgs> {}

export const NodeResourcesFitArgs = message(`${PACKAGE}.NodeResourcesFitArgs`, "Which resources a node must have.", {
  ignoredResources: f.list(1, e.string, "Resources that are not checked."),
  ignoredResourceGroups: f.list(2, e.string, "Groups of resources that are not checked: example.com."),
  scoringStrategy: f.message(3, ScoringStrategy, "How nodes are ranked; LeastAllocated unless given."),
})
export interface NodeResourcesFitArgs extends ObjectOf<typeof NodeResourcesFitArgs> {}

export const NodeResourcesBalancedAllocationArgs = message(
  `${PACKAGE}.NodeResourcesBalancedAllocationArgs`,
  "Which resources are to be used to the same part.",
  { resources: f.list(1, ResourceSpec, "The resources; cpu and memory unless given.") },
)
export interface NodeResourcesBalancedAllocationArgs extends ObjectOf<typeof NodeResourcesBalancedAllocationArgs> {}

export const PodTopologySpreadArgs = message(`${PACKAGE}.PodTopologySpreadArgs`, "Constraints of pods without any.", {
  defaultConstraints: f.list(1, TopologySpreadConstraint, "The constraints, without selectors."),
  defaultingType: f.string(2, "System for the built-in constraints, List for defaultConstraints.").default("System"),
})
export interface PodTopologySpreadArgs extends ObjectOf<typeof PodTopologySpreadArgs> {}

export const VolumeBindingArgs = message(`${PACKAGE}.VolumeBindingArgs`, "How volumes are bound.", {
  bindTimeoutSeconds: f.int64(1, "Longest time for binding the volumes of a pod, in seconds.").pointer().default(600),
  shape: f.list(2, UtilizationShapePoint, "Belongs to the feature gate StorageCapacityScoring, which is off."),
})
export interface VolumeBindingArgs extends ObjectOf<typeof VolumeBindingArgs> {}

export const DynamicResourcesArgs = message(`${PACKAGE}.DynamicResourcesArgs`, "How devices are allocated.", {
  filterTimeout: f.duration(1, "Longest time for the search on one node; 0s for any time.").pointer().default("10s"),
  bindingTimeout: f.duration(2, "Longest time until the devices of a pod are ready.").pointer().default("10m"),
})
export interface DynamicResourcesArgs extends ObjectOf<typeof DynamicResourcesArgs> {}

/** The arguments of each plugin that has some. */
export interface ArgsOfPlugins {
  readonly DefaultPreemption: DefaultPreemptionArgs
  readonly InterPodAffinity: InterPodAffinityArgs
  readonly NodeAffinity: NodeAffinityArgs
  readonly NodeResourcesFit: NodeResourcesFitArgs
  readonly NodeResourcesBalancedAllocation: NodeResourcesBalancedAllocationArgs
  readonly PodTopologySpread: PodTopologySpreadArgs
  readonly VolumeBinding: VolumeBindingArgs
  readonly DynamicResources: DynamicResourcesArgs
}
export type PluginWithArgs = keyof ArgsOfPlugins

export const ARGS: Readonly<Record<PluginWithArgs, Message>> = {
  DefaultPreemption: DefaultPreemptionArgs,
  InterPodAffinity: InterPodAffinityArgs,
  NodeAffinity: NodeAffinityArgs,
  NodeResourcesFit: NodeResourcesFitArgs,
  NodeResourcesBalancedAllocation: NodeResourcesBalancedAllocationArgs,
  PodTopologySpread: PodTopologySpreadArgs,
  VolumeBinding: VolumeBindingArgs,
  DynamicResources: DynamicResourcesArgs,
}
export const hasArgs = (plugin: string): plugin is PluginWithArgs => Object.hasOwn(ARGS, plugin)

const CPU_AND_MEMORY: readonly ResourceSpec[] = [
  { name: "cpu", weight: 1 },
  { name: "memory", weight: 1 },
]

const weighed = (resources: readonly ResourceSpec[] = []): readonly ResourceSpec[] =>
  resources.length === 0 ? CPU_AND_MEMORY : resources.map(({ name, weight }) => ({ name, weight: weight || 1 }))

/** Sets the defaults that depend on other fields. Source: defaults.go SetDefaults_*. */
export function completeArgs(plugin: PluginWithArgs, args: object): object {
  if (plugin === "NodeResourcesFit") {
    const { scoringStrategy = { type: "LeastAllocated" }, ...rest } = args as NodeResourcesFitArgs
    const { resources } = scoringStrategy as Partial<ScoringStrategy>
    return { ...rest, scoringStrategy: { ...scoringStrategy, resources: weighed(resources) } }
  }
  if (plugin === "NodeResourcesBalancedAllocation")
    return { resources: weighed((args as NodeResourcesBalancedAllocationArgs).resources) }
  if (plugin === "PodTopologySpread") {
    const { defaultingType, ...rest } = args as PodTopologySpreadArgs
    return { ...rest, defaultingType: defaultingType || "System" }
  }
  return args
}
