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

/** Returns what the pod, and the pods on the node, request of a resource, and how much of it the node has. */
type Amount = (pod: Pod, node: NodeInfo) => { readonly wanted: number; readonly used: number; readonly total: number }

/** A container without requests counts as if it had small ones, so that such pods are spread too. */
const scored = (name: "cpu" | "memory"): Amount => {
  return (pod, { scored: sums, allocatable }) => ({
    wanted: requestsOf(pod).scored[name],
    used: sums[name],
    total: allocatable[name],
  })
}
const exact =
  (name: "cpu" | "memory" | "ephemeral"): Amount =>
  (pod, { requested, allocatable }) => ({
    wanted: requestsOf(pod).exact[name],
    used: requested[name],
    total: allocatable[name],
  })
/** A device counts only for pods that ask for it. */
const scalar =
  (name: string): Amount =>
  (pod, { requested, allocatable }) => {
    const wanted = requestsOf(pod).exact.scalar.get(name) ?? 0
    return {
      wanted,
      used: requested.scalar.get(name) ?? 0,
      total: wanted === 0 ? 0 : (allocatable.scalar.get(name) ?? 0),
    }
  }

const amountOf = (name: string, small: boolean): Amount =>
  name === "cpu" || name === "memory"
    ? small
      ? scored(name)
      : exact(name)
    : name === "ephemeral-storage"
      ? exact("ephemeral")
      : scalar(name)

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
      const { wanted, used, total } = amount(pod, node)
      const score = total === 0 ? undefined : scoreOne(used + wanted, total)
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
  return (pod, node) => {
    const [after, before]: [number[], number[]] = [[], []]
    let asksForSome = false
    for (const amount of all) {
      const { wanted, used, total } = amount(pod, node)
      asksForSome ||= wanted !== 0
      if (total === 0) continue
      after.push(Math.min(1, (used + wanted) / total))
      before.push(Math.min(1, used / total))
    }
    if (!asksForSome) return 0
    return MAX_SCORE / 2 + Math.trunc((MAX_SCORE / 2 + evenness(after) - evenness(before)) / 2)
  }
}

/** Returns 100 for equal fractions, less the more they differ (by their standard deviation). */
function evenness(fractions: readonly number[]): number {
  if (fractions.length < 2) return MAX_SCORE
  if (fractions.length === 2) return Math.trunc((1 - Math.abs((fractions[0]! - fractions[1]!) / 2)) * MAX_SCORE)
  const mean = fractions.reduce((sum, one) => sum + one, 0) / fractions.length
  const variance = fractions.reduce((sum, one) => sum + (one - mean) ** 2, 0) / fractions.length
  return Math.trunc((1 - Math.sqrt(variance)) * MAX_SCORE)
}
