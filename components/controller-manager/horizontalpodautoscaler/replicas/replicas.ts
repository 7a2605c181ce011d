import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { isPodReady, podCondition } from "../../../../pkg/pods/pod-state.ts"
import type { PodMetrics } from "./metrics-client.ts"
import { requestOf } from "./pod-requests.ts"

/**
 * Computes how many replicas a metric needs. A pod without a metric counts in the way that makes the change smaller: as
 * idle when scaling up, as fully used when scaling down. Source: pkg/controller/podautoscaler/replica_calculator.go.
 */

/** The deviation from the target within which nothing is scaled, as a fraction of the target, for each direction. */
export interface Tolerances {
  readonly up: number
  readonly down: number
}

/**
 * How long after its start a pod may count as not ready, in milliseconds. Source:
 * --horizontal-pod-autoscaler-cpu-initialization-period.
 */
const CPU_INITIALIZATION_MS = 300_000
/**
 * How long after its start a pod without readiness counts as never having been ready, in milliseconds. Source:
 * --horizontal-pod-autoscaler-initial-readiness-delay.
 */
const INITIAL_READINESS_MS = 30_000
const MAX_INT32 = 2 ** 31 - 1

export const isWithin = ({ up, down }: Tolerances, ratio: number): boolean => 1 - down <= ratio && ratio <= 1 + up

export interface Usage {
  readonly replicas: number
  /** The value of the average pod, in thousandths. */
  readonly average: number
  /** The usage in percent of the requests; set when the target is a percentage. */
  readonly utilization?: number
}

/** The input for computing replicas from the metrics of pods. */
export interface PodsQuestion {
  readonly pods: readonly Pod[]
  readonly metrics: PodMetrics
  readonly currentReplicas: number
  readonly tolerances: Tolerances
  /** The resource; "" for other metrics. Only values of "cpu" are misleading while a pod starts. */
  readonly resource: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** @throws Error when there are no pods, or none of them has a metric */
export function replicasForAverage(question: PodsQuestion, target: number): Usage {
  return replicasFor(question, {
    ratio: (metrics) => {
      const average = Math.trunc(sum(metrics) / metrics.size)
      return { ratio: average / target, average }
    },
    missingWhenLow: () => target,
  })
}

/** The same for a percentage of the requests. @throws Error also when a container has no request */
export function replicasForUtilization(question: PodsQuestion, target: number, container: string | undefined): Usage {
  const { resource } = question
  return replicasFor(question, {
    prepare: (pods) => new Map(pods.map((pod) => [pod.metadata.name ?? "", requestOf(pod, resource, container)])),
    ratio(metrics, requests) {
      const known = [...metrics].filter(([name]) => requests.has(name))
      const requested = known.reduce((total, [name]) => total + requests.get(name)!, 0)
      if (requested === 0) throw new Error("no metrics returned matched known pods")
      const used = known.reduce((total, [, { value }]) => total + value, 0)
      const utilization = Math.trunc((used * 100) / requested)
      return { ratio: utilization / target, average: Math.trunc(used / known.length), utilization }
    },
    missingWhenLow: (name, requests) => Math.trunc((requests.get(name)! * Math.max(100, target)) / 100),
  })
}

interface Measure {
  prepare?(pods: readonly Pod[]): ReadonlyMap<string, number>
  ratio(
    metrics: PodMetrics,
    requests: ReadonlyMap<string, number>,
  ): { readonly ratio: number; readonly average: number; readonly utilization?: number }
  /** Returns the usage that a pod without a metric counts with when scaling down. */
  missingWhenLow(name: string, requests: ReadonlyMap<string, number>): number
}

function replicasFor(question: PodsQuestion, { prepare, ratio: measure, missingWhenLow }: Measure): Usage {
  const { pods, currentReplicas, tolerances } = question
  if (pods.length === 0) throw new Error("no pods returned by selector while calculating replica count")
  const metrics: PodMetrics = new Map(question.metrics)
  const { ready, unready, missing, ignored } = grouped(question)
  for (const name of [...ignored, ...unready]) metrics.delete(name)
  if (metrics.size === 0) throw new Error("did not receive metrics for targeted pods (pods might be unready)")
  const requests = prepare?.(pods) ?? new Map<string, number>()
  const { ratio, ...seen } = measure(metrics, requests)
  const stay = { replicas: currentReplicas, ...seen }

  const unreadyHoldBack = unready.length > 0 && ratio > 1
  if (!unreadyHoldBack && missing.length === 0)
    return isWithin(tolerances, ratio) ? stay : { ...seen, replicas: Math.ceil(ratio * ready) }

  const put = (names: readonly string[], value: (name: string) => number) => {
    for (const name of names) metrics.set(name, { value: value(name), timestamp: 0, windowMs: 0 })
  }
  if (ratio < 1) put(missing, (name) => missingWhenLow(name, requests))
  else if (ratio > 1) put(missing, () => 0)
  if (unreadyHoldBack) put(unready, () => 0)
  const { ratio: careful } = measure(metrics, requests)
  const turned = (ratio < 1 && careful > 1) || (ratio > 1 && careful < 1)
  if (isWithin(tolerances, careful) || turned) return stay
  const replicas = Math.ceil(careful * metrics.size)
  const isOpposite = (careful < 1 && replicas > currentReplicas) || (careful > 1 && replicas < currentReplicas)
  return isOpposite ? stay : { ...seen, replicas }
}

/** Source: groupPods. */
function grouped({ pods, metrics, resource, now }: PodsQuestion) {
  const [unready, missing, ignored]: [string[], string[], string[]] = [[], [], []]
  let ready = 0
  for (const pod of pods) {
    const { name = "", deletionTimestamp } = pod.metadata
    const metric = metrics.get(name)
    if (deletionTimestamp !== undefined || pod.status.phase === "Failed") ignored.push(name)
    else if (pod.status.phase === "Pending") unready.push(name)
    else if (metric === undefined) missing.push(name)
    else if (resource === "cpu" && isStarting(pod, metric, now)) unready.push(name)
    else ready++
  }
  return { ready, unready, missing, ignored }
}

function isStarting(pod: Pod, metric: { readonly timestamp: number; readonly windowMs: number }, now: number): boolean {
  const condition = podCondition(pod, "Ready")
  const { startTime } = pod.status
  if (condition === undefined || startTime === undefined) return true
  const started = Date.parse(startTime)
  const changed = Date.parse(condition.lastTransitionTime ?? "")
  return started + CPU_INITIALIZATION_MS > now
    ? condition.status === "False" || metric.timestamp < changed + metric.windowMs
    : condition.status === "False" && started + INITIAL_READINESS_MS > changed
}

/**
 * Computes replicas for a metric of one object, or an external one, whose whole value is compared with the target.
 * Source: getUsageRatioReplicaCount.
 */
export function replicasForValue(
  used: number,
  target: number,
  { pods, currentReplicas, tolerances }: Pick<PodsQuestion, "pods" | "currentReplicas" | "tolerances">,
): number {
  const ratio = used / target
  if (currentReplicas === 0) return Math.min(Math.ceil(ratio), MAX_INT32)
  if (isWithin(tolerances, ratio)) return currentReplicas
  if (pods.length === 0)
    throw new Error("unable to calculate ready pods: no pods returned by selector while calculating replica count")
  const ready = pods.filter((pod) => pod.status.phase === "Running" && isPodReady(pod)).length
  return Math.min(Math.ceil(ratio * ready), MAX_INT32)
}

/** The same for a value that is divided among the pods. Source: GetExternalPerPodMetricReplicas. */
export function replicasForShare(
  used: number,
  target: number,
  { currentReplicas, tolerances }: Pick<PodsQuestion, "currentReplicas" | "tolerances">,
): Usage {
  const wanted = Math.min(Math.ceil(used / target), MAX_INT32)
  const replicas = isWithin(tolerances, used / (target * currentReplicas)) ? currentReplicas : wanted
  // Before the first pod is counted, there is nothing to divide by.
  return { replicas, average: Math.ceil(used / Math.max(1, currentReplicas)) }
}

const sum = (metrics: PodMetrics): number => [...metrics.values()].reduce((total, { value }) => total + value, 0)
