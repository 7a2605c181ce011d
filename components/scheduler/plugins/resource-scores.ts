/**
 * Scores of a node by what its resources would be used with one more pod. Source: plugins/noderesources
 * resource_allocation.go, least_allocated.go, most_allocated.go, requested_to_capacity_ratio.go,
 * balanced_allocation.go.
 */
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { requestsOf } from "../../../pkg/api/core/v1/pod/resources/pod-requests.ts"
import type { ResourceSpec, ScoringStrategy, UtilizationShapePoint } from "../config/plugin-args.ts"
import { MAX_SCORE } from "../framework.ts"
import type { NodeInfo } from "../node-info.ts"

export type NodeScore = (pod: Pod, node: NodeInfo) => number

/** A resource, as numbers of a pod and of a node. They are functions, so that a score allocates nothing. */
interface Amount {
  wanted(pod: Pod): number
  used(node: NodeInfo): number
  /** How much the node has. */
  total(node: NodeInfo): number
  /** Whether the resource counts only for pods that ask for it, as a device does. */
  readonly onlyIfWanted: boolean
}

/** A container without requests counts as if it had small ones, so that such pods are spread too. */
const scored = (name: "cpu" | "memory"): Amount => ({
  wanted: (pod) => requestsOf(pod).scored[name],
  used: ({ scored }) => scored[name],
  total: ({ allocatable }) => allocatable[name],
  onlyIfWanted: false,
})
const exact = (name: "cpu" | "memory" | "ephemeral"): Amount => ({
  wanted: (pod) => requestsOf(pod).exact[name],
  used: ({ requested }) => requested[name],
  total: ({ allocatable }) => allocatable[name],
  onlyIfWanted: false,
})
const scalar = (name: string): Amount => ({
  wanted: (pod) => requestsOf(pod).exact.scalar.get(name) ?? 0,
  used: ({ requested }) => requested.scalar.get(name) ?? 0,
  total: ({ allocatable }) => allocatable.scalar.get(name) ?? 0,
  onlyIfWanted: true,
})

const amountOf = (name: string, small: boolean): Amount =>
  name === "cpu" || name === "memory"
    ? small
      ? scored(name)
      : exact(name)
    : name === "ephemeral-storage"
      ? exact("ephemeral")
      : scalar(name)

/** Returns how much the node has, 0 where the resource does not count. */
const totalOf = (amount: Amount, wanted: number, node: NodeInfo): number =>
  amount.onlyIfWanted && wanted === 0 ? 0 : amount.total(node)

/** Returns a score from 0 to 100 of one resource; `undefined` leaves the resource out. */
type OneScore = (requested: number, total: number) => number | undefined

const leastAllocated: OneScore = (requested, total) =>
  requested > total ? 0 : Math.trunc(((total - requested) * MAX_SCORE) / total)
const mostAllocated: OneScore = (requested, total) => Math.trunc((Math.min(requested, total) * MAX_SCORE) / total)

/** Scores of 0 are left out, so that a resource of which a node has enough does not pull the others down. */
function byShape(shape: readonly UtilizationShapePoint[]): OneScore {
  const points = shape.map(({ utilization, score }) => ({ utilization, score: score * 10 }))
  const scoreAt = (utilization: number): number => {
    const next = points.findIndex((point) => utilization <= point.utilization)
    if (next < 0) return points.at(-1)!.score
    const [before, after] = [points[next - 1], points[next]!]
    if (before === undefined) return after.score
    const [rise, width] = [after.score - before.score, after.utilization - before.utilization]
    return before.score + Math.trunc((rise * (utilization - before.utilization)) / width)
  }
  return (requested, total) => {
    const score = scoreAt(requested > total ? 100 : Math.trunc((requested * 100) / total))
    return score > 0 ? score : undefined
  }
}

/** Returns the score of NodeResourcesFit: the weighted mean over the resources that the node has. */
export function fitScore({ type, resources = [], requestedToCapacityRatio: ratio }: ScoringStrategy): NodeScore {
  const scoreOne =
    type === "MostAllocated"
      ? mostAllocated
      : type === "RequestedToCapacityRatio"
        ? byShape(ratio?.shape ?? [])
        : leastAllocated
  const divide = type === "RequestedToCapacityRatio" ? Math.round : Math.trunc
  const terms = resources.map(({ name, weight }) => ({ amount: amountOf(name, true), weight }))
  return (pod, node) => {
    let [sum, weights] = [0, 0]
    for (const { amount, weight } of terms) {
      const wanted = amount.wanted(pod)
      const total = totalOf(amount, wanted, node)
      const score = total === 0 ? undefined : scoreOne(amount.used(node) + wanted, total)
      if (score === undefined) continue
      sum += score * weight
      weights += weight
    }
    return weights === 0 ? 0 : divide(sum / weights)
  }
}

/**
 * Returns the score of NodeResourcesBalancedAllocation: how much more alike the used parts of the resources become by
 * the pod. A pod without requests makes no difference.
 */
export function balancedScore(resources: readonly ResourceSpec[]): NodeScore {
  const all = resources.map(({ name }) => amountOf(name, false))
  const [after, before] = [new Float64Array(all.length), new Float64Array(all.length)]
  return (pod, node) => {
    let count = 0
    let asksForSome = false
    for (const amount of all) {
      const wanted = amount.wanted(pod)
      asksForSome ||= wanted !== 0
      const total = totalOf(amount, wanted, node)
      if (total === 0) continue
      const used = amount.used(node)
      after[count] = Math.min(1, (used + wanted) / total)
      before[count++] = Math.min(1, used / total)
    }
    if (!asksForSome) return 0
    return MAX_SCORE / 2 + Math.trunc((MAX_SCORE / 2 + evenness(after, count) - evenness(before, count)) / 2)
  }
}

/** Returns 100 for equal fractions, less the more they differ (by their standard deviation). */
function evenness(fractions: Float64Array, count: number): number {
  if (count < 2) return MAX_SCORE
  if (count === 2) return Math.trunc((1 - Math.abs((fractions[0]! - fractions[1]!) / 2)) * MAX_SCORE)
  let [sum, squares] = [0, 0]
  for (let i = 0; i < count; i++) sum += fractions[i]!
  for (let i = 0; i < count; i++) squares += (fractions[i]! - sum / count) ** 2
  return Math.trunc((1 - Math.sqrt(squares / count)) * MAX_SCORE)
}
