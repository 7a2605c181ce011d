import type { Container } from "./container.ts"
import type { PodSpec } from "../pod/podspec.ts"

interface Pod {
  readonly spec: PodSpec
}

type Rules = Pick<Container, "restartPolicyRules">
type Policy = Pick<Container, "restartPolicy" | "restartPolicyRules">

/** Returns the action of the first rule for this exit code. Source: FindMatchingContainerRestartRule; KEP-5307. */
const ruledAction = ({ restartPolicyRules = [] }: Rules, exitCode: number): string | undefined =>
  restartPolicyRules.find(
    ({ exitCodes }) =>
      exitCodes !== undefined && (exitCodes.values ?? []).includes(exitCode) === (exitCodes.operator === "In"),
  )?.action

/** Whether this end of a container starts all containers of its pod again. Source: KEP-5532. */
export const endRestartsAll = (container: Rules, exitCode: number): boolean =>
  ruledAction(container, exitCode) === "RestartAllContainers"

/**
 * Whether the end of some container may start all containers of the pod again, also those that have succeeded. Source:
 * AllContainersCouldRestart in pkg/api/v1/pod/util.go.
 */
export const couldRestartAll = ({ containers, initContainers = [] }: PodSpec): boolean =>
  [...initContainers, ...containers].some(
    ({ restartPolicyRules }) => restartPolicyRules?.some(({ action }) => action === "RestartAllContainers") === true,
  )

/**
 * Whether a container that ended with `exitCode` is started again: by its own rules, its own policy, or the pod's.
 * Source: pkg/kubelet/container/helpers.go ShouldContainerBeRestarted; KEP-5307 for rules.
 */
export function restarts(pod: Pod, container: Policy, exitCode: number): boolean {
  const action = ruledAction(container, exitCode)
  if (action !== undefined) return action === "Restart" || action === "RestartAllContainers"
  switch (container.restartPolicy ?? pod.spec.restartPolicy) {
    case "Always":
      return true
    case "OnFailure":
      return exitCode !== 0
    case "Never":
      return false
  }
}

/** Of an init container, for which the pod's Always means OnFailure: it must succeed once. */
export const initRestarts = (pod: Pod, container: Policy, exitCode: number): boolean =>
  exitCode !== 0 && restarts(pod, container, exitCode)
