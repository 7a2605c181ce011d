import type { HorizontalPodAutoscaler } from "../../../components/cluster/testing/testing.ts"
import { nameOf } from "../world.ts"
import type { Seen } from "./seen.ts"
import { isBy, type WriteInvariant } from "./write.ts"

const TOLERANCE = 0.1
/** By default replicas may double within 15 s, and may always grow by 4. Source: autoscaling/v2 defaults.go. */
const FEWEST_STEP = 4
/** How long an autoscaler keeps the highest of its numbers. Source: autoscaling/v2 defaults.go. */
const STABILIZATION_MS = 300_000

/**
 * What an autoscaler asks for follows from its metrics: within its bounds, higher only if a metric is above its
 * target by more than the tolerance or the bounds ask for it, at most twice as many or four more at a time, and as
 * many as the ratio says. Source: podautoscaler/horizontal.go, replica_calculator.go.
 */
export const followsMetrics: WriteInvariant = (write, seen) => {
  const { object, type } = write
  if (object.kind !== "HorizontalPodAutoscaler" || type !== "update") return []
  if (!isBy(write, "horizontal-pod-autoscaler")) return []
  const { spec, status } = object as HorizontalPodAutoscaler
  const { desiredReplicas: wanted, currentReplicas: current = 0, currentMetrics } = status
  const isActive = status.conditions?.some((one) => one.type === "ScalingActive" && one.status === "True") === true
  if (wanted === 0 || current === 0 || !isActive) return []
  const least = spec.minReplicas ?? 1
  const problems: string[] = []
  if (wanted > Math.max(spec.maxReplicas, 0) || wanted < least)
    problems.push(`wants ${wanted} of ${least} to ${spec.maxReplicas}`)
  const ratios = (spec.metrics ?? []).map(({ resource }) => {
    const is = currentMetrics?.find((one) => one.resource?.name === resource?.name)?.resource?.current
      .averageUtilization
    const target = resource?.target.averageUtilization
    return is === undefined || target === undefined ? undefined : { is, target }
  })
  if (ratios.length === 0 || ratios.some((one) => one === undefined))
    return problems.map((problem) => `${nameOf(object)} ${problem}`)
  // Without `behavior` the highest number of the last five minutes counts, also one that the bounds did not allow then,
  // and one from which somebody else has scaled down. Source: horizontal.go stabilizeRecommendation.
  const before = seen.recent<HorizontalPodAutoscaler>(object.kind, object.metadata.uid, seen.now - STABILIZATION_MS)
  if (
    spec.behavior === undefined &&
    before.some((one) => (one.status.currentReplicas ?? 0) > Math.min(current, one.spec.maxReplicas))
  )
    return problems.map((problem) => `${nameOf(object)} ${problem}`)
  // The utilization is told without its fraction, so the ratio lies between these two.
  const highest = Math.max(...ratios.map((one) => (one!.is + 1) / one!.target))
  if (wanted > current && wanted > least && highest <= 1 + TOLERANCE)
    problems.push(
      `goes from ${current} to ${wanted} though its metrics are ${Math.round(highest * 100)} % of their targets`,
    )
  if (wanted > current && wanted > Math.max(least, current * 2, current + FEWEST_STEP))
    problems.push(`goes from ${current} to ${wanted} at once`)
  if (wanted > current && wanted > Math.max(least, Math.ceil(current * highest)))
    problems.push(`goes from ${current} to ${wanted}, but its metrics ask for ${Math.ceil(current * highest)}`)
  return problems.map((problem) => `${nameOf(object)} ${problem}`)
}

/** Whether an autoscaler stands still because its target was set to no replicas by somebody else. */
const isDisabled = ({ status }: HorizontalPodAutoscaler): boolean =>
  status.conditions?.some(({ type, reason }) => type === "ScalingActive" && reason === "ScalingDisabled") === true

/**
 * An autoscaler does not take back within five minutes what it has scaled up to, unless its bounds change or its target
 * is set to no replicas. Where it has only returned to its highest recent number, the five minutes began with that.
 * Source: podautoscaler/horizontal.go.
 */
export const staysUp: WriteInvariant = (write, seen) => {
  const { object, previous, type } = write
  if (object.kind !== "HorizontalPodAutoscaler" || type !== "update" || previous === undefined) return []
  const [is, was] = [object as HorizontalPodAutoscaler, previous as HorizontalPodAutoscaler]
  if (!isBy(write, "horizontal-pod-autoscaler") || is.status.desiredReplicas >= was.status.desiredReplicas) return []
  if (isDisabled(is)) return []
  // It still grows, though not by so much at once: somebody else has scaled down.
  if (is.status.desiredReplicas > (is.status.currentReplicas ?? 0)) return []
  const since = seen.now - STABILIZATION_MS + 1000
  if (!seen.course.wasCalm(since, seen.now)) return []
  const states = seen.recent<HorizontalPodAutoscaler>("HorizontalPodAutoscaler", is.metadata.uid, since)
  if (states.some(({ metadata }) => metadata.generation !== is.metadata.generation || metadata.uid !== is.metadata.uid))
    return []
  const scales = states.filter(
    ({ status }, at) =>
      at > 0 &&
      Date.parse(status.lastScaleTime ?? "") > since &&
      status.desiredReplicas > states[at - 1]!.status.desiredReplicas &&
      status.lastScaleTime !== states[at - 1]!.status.lastScaleTime,
  )
  const highest = Math.max(
    0,
    ...scales.filter((one) => !isReturn(one, seen)).map(({ status }) => status.desiredReplicas),
  )
  return is.status.desiredReplicas < highest && is.spec.maxReplicas >= highest
    ? [`${nameOf(object)} goes down to ${is.status.desiredReplicas} within five minutes after ${highest}`]
    : []
}

/** Whether what an autoscaler has scaled up to was there already in the five minutes before it. */
function isReturn({ kind, metadata, status }: HorizontalPodAutoscaler, seen: Seen): boolean {
  const since = Date.parse(status.lastScaleTime ?? "") - STABILIZATION_MS
  const states = seen.recent<HorizontalPodAutoscaler>(kind, metadata.uid, since)
  const before = states.slice(
    0,
    states.findIndex((one) => one.metadata.resourceVersion === metadata.resourceVersion),
  )
  return before.some((one) => (one.status.currentReplicas ?? 0) >= status.desiredReplicas)
}
