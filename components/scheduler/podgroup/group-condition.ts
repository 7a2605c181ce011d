import { PodGroup, SCHEDULED } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import type { PodGroupTools } from "../pod-groups.ts"

/** What a cycle has found out about a group. */
export interface GroupVerdict {
  readonly status: "True" | "False"
  readonly reason: "Scheduled" | "Unschedulable" | "SchedulerError"
  readonly message: string
}

/**
 * Writes the condition PodGroupScheduled, where it says something else. A group that was scheduled stays so: later
 * pods of it that find no node change nothing. Source: schedule_one_podgroup.go updatePodGroupCondition.
 */
export async function writeGroupCondition(
  group: PodGroup,
  { status, reason, message }: GroupVerdict,
  { client, clock, log, isRunning }: PodGroupTools,
): Promise<void> {
  const { conditions = [] } = group.status
  const before = conditions.find(({ type }) => type === SCHEDULED)
  if (before?.status === "True" && status !== "True") return
  const { generation } = group.metadata
  if (
    before?.status === status &&
    before.reason === reason &&
    before.message === message &&
    before.observedGeneration === generation
  )
    return
  const condition = {
    type: SCHEDULED,
    status,
    reason,
    message,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : timestamp(clock),
  }
  const body = { metadata: { uid: group.metadata.uid }, status: { conditions: [condition] } }
  try {
    await client.patch(PodGroup, group.metadata, { type: "strategic", body }, { subresource: "status" })
  } catch (err) {
    if (isRunning() && !isNotFound(err))
      log.warn("Failed to write whether a pod group is scheduled", {
        podGroup: `${group.metadata.namespace}/${group.metadata.name}`,
        err,
      })
  }
}
