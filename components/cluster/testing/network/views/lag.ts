import { seededRandom } from "../../../../../pkg/clock/random.ts"

/** How late the parts of a node know what changed, in milliseconds. Pairs are drawn from, the least and the most. */
export interface Lag {
  /** Until a change has come to the node by its watch. */
  readonly watchMs: readonly [number, number]
  /** How long kube-proxy rests after it has written rules. */
  readonly restMs: number
  /** How long kube-proxy writes rules. */
  readonly writeMs: readonly [number, number]
}

/** Every node knows what changed at once. */
export const NO_LAG: Lag = { watchMs: [0, 0], restMs: 0, writeMs: [0, 0] }

/**
 * The lag of real nodes in a small cluster. kube-proxy rests for `minSyncPeriod`, 1 s by default in each of its modes
 * (pkg/proxy/apis/config/v1alpha1/defaults.go), counted from the end of a run to the beginning of the next
 * (pkg/proxy/runner/bounded_frequency_runner.go); the other figures are what watches and `iptables-restore` take.
 */
export const REAL_LAG: Lag = { watchMs: [5, 50], restMs: 1000, writeMs: [20, 100] }

/**
 * Returns a number of the range. It depends on the words alone, so that it is the same whenever it is drawn, and
 * whatever else is drawn.
 */
export function drawn([least, most]: readonly [number, number], seed: number, words: string): number {
  if (least === most) return least
  let hash = seed ^ 0x811c9dc5 // FNV-1a
  for (let i = 0; i < words.length; i++) hash = Math.imul(hash ^ words.charCodeAt(i), 0x01000193)
  return least + seededRandom(hash).next() * (most - least)
}
