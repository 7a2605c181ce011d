/** The settings of the node lifecycle controller. Times are milliseconds. */
export interface NodeLifecycleSettings {
  /** A node without a heartbeat for this time counts as lost. */
  readonly graceMs: number
  readonly eviction: EvictionRates
}

/** How fast nodes that are not ready get their NoExecute taint, by which their pods are evicted. */
export interface EvictionRates {
  /** Nodes a second in a zone that is healthy or lost as a whole. */
  readonly rate: number
  /** Nodes a second in a large zone that is unhealthy. */
  readonly secondaryRate: number
  /** A zone with more nodes is large; a smaller one that is unhealthy gets no taints. */
  readonly largeZone: number
  /** A zone with at least this part of its nodes not ready, and at least three nodes, is unhealthy. */
  readonly unhealthyPart: number
}

/**
 * Source: cmd/kube-controller-manager/app/options/nodelifecyclecontroller.go, and for the grace period
 * RecommendedDefaultNodeLifecycleControllerConfiguration (50 s since 1.32).
 */
export const NODE_LIFECYCLE_DEFAULTS: NodeLifecycleSettings = {
  graceMs: 50_000,
  eviction: { rate: 0.1, secondaryRate: 0.01, largeZone: 50, unhealthyPart: 0.55 },
}
