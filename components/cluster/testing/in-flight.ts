import { DEFAULT_LIMITS, type InFlightLimits } from "../../apiserver/flowcontrol/max-in-flight.ts"

/** How many requests of each sort a node may have in progress. */
const OF_A_NODE = 10

/**
 * Returns how many requests the API server of a cluster with so many nodes serves at once. Servers of large clusters
 * are given more, as in upstream's cluster/gce/gci/configure-kubeapiserver.sh. In virtual time they need many: a
 * request is in progress until the commit of its turn, and thousands of kubelets act at the same instant, so with few
 * places most requests would wait, in commits that are small.
 */
export const inFlightLimits = (nodes: number): InFlightLimits => ({
  reads: Math.max(DEFAULT_LIMITS.reads, nodes * OF_A_NODE),
  writes: Math.max(DEFAULT_LIMITS.writes, nodes * OF_A_NODE),
})
