import type { KubeObject } from "../../../components/cluster/testing/testing.ts"
import { nameOf } from "../world.ts"
import type { Seen } from "./seen.ts"
import type { WriteInvariant } from "./write.ts"

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly lastTransitionTime?: string
}

/**
 * Kinds whose conditions get a new time also with a new reason or message. Source: kubernetes
 * pkg/controller/job/job_controller.go ensureJobConditionStatus, replicaset/replica_set_utils.go SetCondition,
 * namespace/deletion/status_condition_utils.go.
 */
const WITH_REASON: ReadonlySet<string> = new Set(["Job", "ReplicaSet", "ReplicationController", "Namespace"])

/** A condition's lastTransitionTime moves only together with its status, and forward; each type is there once. */
export const timesTransitions: WriteInvariant = ({ type, object, previous, time, author }, seen) => {
  const { course } = seen
  const problems: string[] = []
  const conditions = conditionsOf(object)
  if (new Set(conditions.map((condition) => condition.type)).size !== conditions.length)
    problems.push(`has a condition twice: ${conditions.map((condition) => condition.type).join()}`)
  if (previous !== undefined && type === "update" && !WITH_REASON.has(object.kind ?? ""))
    for (const condition of conditions) {
      const before = conditionsOf(previous).find((one) => one.type === condition.type)
      const [was, is] = [before?.lastTransitionTime, condition.lastTransitionTime]
      if (before === undefined || was === undefined || is === undefined) continue
      const mayDiffer =
        object.kind === "Pod" &&
        (hasOthers(object, previous) ||
          (condition.type === "PodReadyToStartContainers" && hasOtherAddress(object, previous)) ||
          (author.startsWith("system:node:") && wasOther(object, condition, seen)))
      if (before.status === condition.status && was !== is && !mayDiffer)
        problems.push(`is ${condition.type}=${condition.status} since ${was}, and then since ${is}`)
      // A clock that is set, and one that is slow, write earlier times.
      const now = Date.parse(time)
      if (
        before.status !== condition.status &&
        is < was &&
        !isOfNodeController(object, before) &&
        course.wasCalm(Date.parse(was), now)
      )
        problems.push(`is ${condition.type}=${condition.status} since ${is}, before ${was}`)
    }
  return problems.map((problem) => `${nameOf(object)} ${problem}`)
}

/** Whether the condition had another status in a state that a kubelet, which has just started, may still take for the last. */
const wasOther = ({ kind = "", metadata }: KubeObject, { type, status }: Condition, seen: Seen): boolean =>
  seen.recent(kind, metadata.uid).some((one) => {
    const before = conditionsOf(one).find((condition) => condition.type === type)
    return before !== undefined && before.status !== status
  })

/**
 * Whether the node controller has called a pod of a lost node not ready, which it does without a reason. A kubelet that
 * is back writes the status that it knows, with the earlier time. Source: kubernetes
 * pkg/controller/util/node/controller_utils.go MarkPodsNotReady, pkg/kubelet/status/status_manager.go.
 */
const isOfNodeController = (object: KubeObject, before: Condition): boolean =>
  object.kind === "Pod" && before.type === "Ready" && before.status === "False" && before.reason === undefined

/**
 * Whether containers have changed: a kubelet tells only its last status, so a condition may have been different between
 * two writes.
 */
const hasOthers = (pod: KubeObject, before: KubeObject): boolean => {
  const containersOf = (object: KubeObject & { readonly status?: unknown }) => {
    const { containerStatuses, initContainerStatuses, phase } = (object.status ?? {}) as Record<string, unknown>
    return JSON.stringify([containerStatuses, initContainerStatuses, phase])
  }
  return containersOf(pod) !== containersOf(before)
}

/** Whether the pod has another sandbox: the one before was away for a moment that a kubelet may not tell. */
const hasOtherAddress = (pod: KubeObject, before: KubeObject): boolean => {
  const addressOf = (object: KubeObject & { readonly status?: { readonly podIP?: string } }) => object.status?.podIP
  return addressOf(pod) !== addressOf(before)
}

function conditionsOf({ status }: KubeObject & { readonly status?: unknown }): readonly Condition[] {
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly Condition[] }
  return conditions
}
