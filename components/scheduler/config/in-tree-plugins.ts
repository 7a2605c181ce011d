import type { FeatureName } from "../../../pkg/component/features.ts"
import { EXTENSION_POINTS, type ExtensionPoint } from "../../../pkg/scheduler-plugin/extension-points.ts"

/** Where plugins are asked about groups of pods: only those that are part of the scheduler. */
const GROUP_POINTS = ["placementGenerate", "placementScore"] as const
/** Every extension point of a configuration but multiPoint. */
export const PLUGIN_POINTS = [...EXTENSION_POINTS, ...GROUP_POINTS] as const
export type PluginPoint = ExtensionPoint | (typeof GROUP_POINTS)[number]

interface InTree {
  readonly points: readonly PluginPoint[]
  /** The gate that has the plugin run by default; it runs always unless given. */
  readonly gate?: FeatureName
  /** Weight of the score by default. */
  readonly weight?: number
}

const FILTERS = ["preFilter", "filter"] as const
const RANKS = ["preScore", "score"] as const

/**
 * Every plugin that is part of the scheduler, in the order in which they run by default. The plugins themselves are in
 * plugins/plugins.ts; PrioritySort is the queue, DefaultPreemption is preemption.ts, DefaultBinder binding-cycle.ts,
 * and those of groups are in podgroup. Source: apis/config/v1/default_plugins.go; the interfaces of each plugin.
 */
export const IN_TREE: Readonly<Record<string, InTree>> = {
  SchedulingGates: { points: ["preEnqueue"] },
  PrioritySort: { points: ["queueSort"] },
  NodeUnschedulable: { points: ["filter"] },
  NodeName: { points: ["filter"] },
  TaintToleration: { points: ["filter", ...RANKS], weight: 3 },
  NodeAffinity: { points: [...FILTERS, ...RANKS], weight: 2 },
  NodePorts: { points: FILTERS },
  NodeResourcesFit: { points: [...FILTERS, ...RANKS], weight: 1 },
  VolumeRestrictions: { points: FILTERS },
  NodeVolumeLimits: { points: FILTERS },
  VolumeBinding: { points: [...FILTERS, "reserve", "preBind", ...RANKS] },
  VolumeZone: { points: FILTERS },
  PodTopologySpread: { points: [...FILTERS, ...RANKS], weight: 2 },
  InterPodAffinity: { points: [...FILTERS, ...RANKS], weight: 2 },
  DynamicResources: {
    points: ["preEnqueue", ...FILTERS, "postFilter", "score", "reserve", "preBind"],
    weight: 2,
  },
  DefaultPreemption: { points: ["preEnqueue", "postFilter"] },
  NodeResourcesBalancedAllocation: { points: RANKS, weight: 1 },
  ImageLocality: { points: ["score"], weight: 1 },
  DefaultBinder: { points: ["bind"] },
  NodeDeclaredFeatures: { points: FILTERS },
  GangScheduling: { points: ["preEnqueue", "permit"], gate: "GangScheduling" },
  TopologyPlacementGenerator: { points: ["placementGenerate"], gate: "TopologyAwareWorkloadScheduling" },
  PodGroupPodsCount: { points: ["placementScore"], weight: 1, gate: "TopologyAwareWorkloadScheduling" },
}

/** Returns the extension points of a plugin; undefined for a plugin that nobody knows. */
export type PointsOf = (plugin: string) => readonly PluginPoint[] | undefined

export const inTreePoints: PointsOf = (name) => (Object.hasOwn(IN_TREE, name) ? IN_TREE[name]!.points : undefined)
