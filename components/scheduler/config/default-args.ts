import type { ArgsOfPlugins } from "./plugin-args.ts"

const CPU_AND_MEMORY = [
  { name: "cpu", weight: 1 },
  { name: "memory", weight: 1 },
]

/**
 * The arguments of plugins without a configuration, beside the schemas in plugin-args.ts, which only a configuration
 * needs. Source: pkg/scheduler/apis/config/v1/defaults.go.
 */
export const DEFAULT_ARGS: ArgsOfPlugins = {
  DefaultPreemption: { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 },
  InterPodAffinity: { hardPodAffinityWeight: 1, ignorePreferredTermsOfExistingPods: false },
  NodeAffinity: {},
  NodeResourcesFit: { scoringStrategy: { type: "LeastAllocated", resources: CPU_AND_MEMORY } },
  NodeResourcesBalancedAllocation: { resources: CPU_AND_MEMORY },
  PodTopologySpread: { defaultingType: "System" },
  VolumeBinding: { bindTimeoutSeconds: 600 },
  DynamicResources: { filterTimeout: "10s", bindingTimeout: "10m" },
}
