import type { PodSpec } from "../../../../pkg/api/core/v1/pod/podspec.ts"
import type { Verdict } from "../../status/pod-status.ts"

/** Why a pod ends that has been active for its `activeDeadlineSeconds`. Source: pkg/kubelet/active_deadline.go. */
export const DEADLINE_EXCEEDED: Verdict = {
  phase: "Failed",
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
}

/**
 * Returns the milliseconds from `now` until the deadline of a pod that started at `startTime`, 0 or less when it has
 * passed; undefined without a deadline, and before the start.
 */
export function millisecondsLeft(
  { activeDeadlineSeconds: seconds }: Pick<PodSpec, "activeDeadlineSeconds">,
  startTime: string | undefined,
  now: number,
): number | undefined {
  return seconds === undefined || startTime === undefined ? undefined : Date.parse(startTime) + seconds * 1000 - now
}
