import type {
  PodFailurePolicy,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyRule,
} from "../../../pkg/api/batch/v1/jobspec.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"

export interface FailureVerdict {
  /** Whether the failure counts towards backoffLimit. */
  readonly counted: boolean
  /** The action of the first matching rule; undefined when none matches. */
  readonly action?: PodFailurePolicyRule["action"]
  /** For FailJob: the message of the Job's condition. */
  readonly message?: string
}

/** Applies the pod failure policy to a failed pod. Source: pkg/controller/job/pod_failure_policy.go. */
export function judgeFailure(policy: PodFailurePolicy | undefined, pod: Pod): FailureVerdict {
  for (const [i, rule] of (policy?.rules ?? []).entries()) {
    const what = rule.onExitCodes === undefined ? matchedCondition(pod, rule) : matchedContainer(pod, rule.onExitCodes)
    if (what === undefined) continue
    const { action } = rule
    if (action === "FailJob") return { counted: true, action, message: `${what} matching FailJob rule at index ${i}` }
    return { counted: action !== "Ignore", action }
  }
  return { counted: true }
}

function matchedContainer(
  pod: Pod,
  { containerName, operator, values }: PodFailurePolicyOnExitCodesRequirement,
): string | undefined {
  for (const { name, state } of [
    ...(pod.status.containerStatuses ?? []),
    ...(pod.status.initContainerStatuses ?? []),
  ]) {
    const exitCode = state?.terminated?.exitCode
    if (exitCode === undefined || exitCode === 0 || (containerName !== undefined && containerName !== name)) continue
    if (values.includes(exitCode) === (operator === "In"))
      return (
        `Container ${name} for pod ${pod.metadata.namespace}/${pod.metadata.name} failed with exit code ` +
        `${exitCode}`
      )
  }
  return undefined
}

function matchedCondition(pod: Pod, { onPodConditions = [] }: PodFailurePolicyRule): string | undefined {
  const matched = pod.status.conditions?.find(({ type, status }) =>
    onPodConditions.some((pattern) => pattern.type === type && pattern.status === status),
  )
  return matched === undefined
    ? undefined
    : `Pod ${pod.metadata.namespace}/${pod.metadata.name} has condition ${matched.type}`
}
