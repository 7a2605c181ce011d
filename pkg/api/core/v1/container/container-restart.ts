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

/** Returns whether this end of a container restarts all containers of its pod. Source: KEP-5532. */
export const endRestartsAll = (container: Rules, exitCode: number): boolean =>
  ruledAction(container, exitCode) === "RestartAllContainers"

/**
 * Returns whether the end of any container may restart all containers of the pod, also those that have succeeded.
 * Source: AllContainersCouldRestart in pkg/api/v1/pod/util.go.
 */
export const couldRestartAll = ({ containers, initContainers = [] }: PodSpec): boolean =>
  [...initContainers, ...containers].some(
    ({ restartPolicyRules }) => restartPolicyRules?.some(({ action }) => action === "RestartAllContainers") === true,
  )

/**
 * Returns whether a container that ended with `exitCode` is started again: by its own rules, its own policy, or the
 * pod's. Source: pkg/kubelet/container/helpers.go ShouldContainerBeRestarted; KEP-5307 for rules.
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

/**
 * Returns whether an init container is started again. The pod's policy Always means OnFailure for it, because it must
 * succeed once.
 */
export const initRestarts = (pod: Pod, container: Policy, exitCode: number): boolean =>
  exitCode !== 0 && restarts(pod, container, exitCode)
