import type { HPAScalingRules } from "../../../../pkg/api/autoscaling/v2/metrics.ts"
import { largest, smallest } from "../../../../pkg/lists/extremes.ts"

/**
 * The reasons why an autoscaler does not follow its metrics at once: stabilization windows, and limits on the change
 * within a period. Source: pkg/controller/podautoscaler/horizontal.go, KEP-853.
 */

/** Source: --horizontal-pod-autoscaler-downscale-stabilization. */
const DOWNSCALE_WINDOW_MS = 300_000
/** Without rules of its own an autoscaler at most doubles the replicas, but may always scale to 4. */
const SCALE_UP_FACTOR = 2
const SCALE_UP_MINIMUM = 4

/** The state of one autoscaler between two evaluations. Times are milliseconds of the monotonic clock. */
export interface History {
  readonly recommendations: readonly { readonly replicas: number; readonly at: number }[]
  readonly scaleUps: readonly Change[]
  readonly scaleDowns: readonly Change[]
}
interface Change {
  /** The number of replicas that were added or removed. */
  readonly by: number
  readonly at: number
}

export const NO_HISTORY: History = { recommendations: [], scaleUps: [], scaleDowns: [] }

/** The number of replicas that the metrics recommend, and the bounds of the autoscaler. */
export interface Recommendation {
  readonly current: number
  readonly desired: number
  readonly least: number
  readonly most: number
  readonly now: number
}

/** A number of replicas, and the reason why it differs from the recommended one. */
export interface Limited {
  readonly replicas: number
  readonly reason: string
  readonly message: string
}

/** Remembers a recommendation, and forgets those that are older than every window. Windows are at most an hour long. */
export function remember(history: History, replicas: number, now: number, windowMs: number): History {
  const kept = history.recommendations.filter(({ at }) => at >= now - windowMs)
  return { ...history, recommendations: [...kept, { replicas, at: now }] }
}

/** Remembers a change of the number of replicas, for as long as the longest period of a policy. */
export function rememberChange(
  history: History,
  { from, to, now }: { readonly from: number; readonly to: number; readonly now: number },
  rules: { readonly up: HPAScalingRules; readonly down: HPAScalingRules },
): History {
  const longest = Math.max(0, largest([rules.up, rules.down].flatMap(({ policies = [] }) => policies.map(periodMs))))
  const recent = (changes: readonly Change[]) => changes.filter(({ at }) => at >= now - longest)
  const change = { by: Math.abs(to - from), at: now }
  return {
    ...history,
    scaleUps: [...recent(history.scaleUps), ...(to > from ? [change] : [])],
    scaleDowns: [...recent(history.scaleDowns), ...(to < from ? [change] : [])],
  }
}

/** Returns the highest recommendation of the last five minutes. Source: stabilizeRecommendation. */
export function stabilized(
  history: History,
  { desired, now }: Recommendation,
): Limited & { readonly history: History } {
  const next = remember(history, desired, now, DOWNSCALE_WINDOW_MS)
  const replicas = largest(next.recommendations.map(({ replicas }) => replicas))
  return { replicas, ...STABILIZED_DOWN, history: next }
}
const STABILIZED_DOWN = {
  reason: "ScaleDownStabilized",
  message: "recent recommendations were higher than current one, applying the highest recent recommendation",
}
const STABILIZED_UP = {
  reason: "ScaleUpStabilized",
  message: "recent recommendations were lower than current one, applying the lowest recent recommendation",
}

/** The same for an autoscaler with windows of its own. Source: stabilizeRecommendationWithBehaviors. */
export function stabilizedByRules(
  history: History,
  { current, desired, now }: Recommendation,
  { up, down }: { readonly up: HPAScalingRules; readonly down: HPAScalingRules },
): Limited & { readonly history: History } {
  const upWindow = (up.stabilizationWindowSeconds ?? 0) * 1000
  const downWindow = windowOfDown(down)
  let [lowest, highest] = [desired, desired]
  for (const { replicas, at } of history.recommendations) {
    if (at > now - upWindow) lowest = Math.min(lowest, replicas)
    if (at > now - downWindow) highest = Math.max(highest, replicas)
  }
  const replicas = Math.min(Math.max(current, lowest), highest)
  const why = desired >= current ? STABILIZED_UP : STABILIZED_DOWN
  return { replicas, ...why, history: remember(history, desired, now, Math.max(upWindow, downWindow)) }
}

const windowOfDown = ({ stabilizationWindowSeconds: seconds }: HPAScalingRules): number =>
  seconds === undefined ? DOWNSCALE_WINDOW_MS : seconds * 1000

const WITHIN = { reason: "DesiredWithinRange", message: "the desired count is within the acceptable range" }
const TOO_FEW = {
  reason: "TooFewReplicas",
  message: "the desired replica count is less than the minimum replica count",
}
const TOO_MANY = {
  reason: "TooManyReplicas",
  message: "the desired replica count is more than the maximum replica count",
}
const TOO_FAST_UP = {
  reason: "ScaleUpLimit",
  message: "the desired replica count is increasing faster than the maximum scale rate",
}
const TOO_FAST_DOWN = {
  reason: "ScaleDownLimit",
  message: "the desired replica count is decreasing faster than the maximum scale rate",
}

/** Source: convertDesiredReplicasWithRules. */
export function limited({ current, desired, least, most }: Recommendation): Limited {
  const fastest = Math.max(SCALE_UP_FACTOR * current, SCALE_UP_MINIMUM)
  if (desired < least) return { replicas: least, ...TOO_FEW }
  if (desired > Math.min(most, fastest))
    return most > fastest ? { replicas: fastest, ...TOO_FAST_UP } : { replicas: most, ...TOO_MANY }
  return { replicas: desired, ...WITHIN }
}

/** Source: convertDesiredReplicasWithBehaviorRate. */
export function limitedByRules(
  history: History,
  { current, desired, least, most, now }: Recommendation,
  { up, down }: { readonly up: HPAScalingRules; readonly down: HPAScalingRules },
): Limited {
  if (desired > current) {
    const limit = Math.max(current, fastestUp(history, current, up, now))
    if (desired > Math.min(most, limit))
      return most > limit ? { replicas: limit, ...TOO_FAST_UP } : { replicas: most, ...TOO_MANY }
  } else if (desired < current) {
    const limit = Math.min(current, fastestDown(history, current, down, now))
    if (desired < Math.max(least, limit))
      return least < limit ? { replicas: limit, ...TOO_FAST_DOWN } : { replicas: least, ...TOO_FEW }
  }
  return { replicas: desired, ...WITHIN }
}

/** Source: calculateScaleUpLimitWithScalingRules. */
function fastestUp(history: History, current: number, rules: HPAScalingRules, now: number): number {
  const { policies = [], selectPolicy } = rules
  if (selectPolicy === "Disabled") return current
  const proposed = policies.map((policy) => {
    const before = atPeriodStart(history, current, now - periodMs(policy))
    return policy.type === "Pods" ? before + policy.value : Math.ceil(before * (1 + policy.value / 100))
  })
  return selectPolicy === "Min" ? smallest(proposed) : largest(proposed)
}

/** Source: calculateScaleDownLimitWithBehaviors. */
function fastestDown(history: History, current: number, rules: HPAScalingRules, now: number): number {
  const { policies = [], selectPolicy } = rules
  if (selectPolicy === "Disabled") return current
  const proposed = policies.map((policy) => {
    const before = atPeriodStart(history, current, now - periodMs(policy))
    return policy.type === "Pods" ? before - policy.value : Math.trunc(before * (1 - policy.value / 100))
  })
  return selectPolicy === "Min" ? largest(proposed) : smallest(proposed)
}

/** Returns the number of replicas at the start of a period. */
function atPeriodStart({ scaleUps, scaleDowns }: History, current: number, start: number): number {
  const since = (changes: readonly Change[]) =>
    changes.reduce((total, { by, at }) => (at > start ? total + by : total), 0)
  return current - since(scaleUps) + since(scaleDowns)
}

const periodMs = ({ periodSeconds }: { readonly periodSeconds: number }): number => periodSeconds * 1000
