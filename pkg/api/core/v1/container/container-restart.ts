import type { Container } from "./container.ts"
import type { PodSpec } from "../pod/podspec.ts"

interface Pod {
  readonly spec: PodSpec
}

/**
 * Whether a container that ended with `exitCode` is started again: by its own rules, its own policy, or the pod's.
 * Source: pkg/kubelet/container/helpers.go ShouldContainerBeRestarted; KEP-5307 for rules.
 */
export function restarts(
  pod: Pod,
  container: Pick<Container, "restartPolicy" | "restartPolicyRules">,
  exitCode: number,
): boolean {
  for (const { action, exitCodes } of container.restartPolicyRules ?? []) {
    if (exitCodes === undefined) continue
    const listed = (exitCodes.values ?? []).includes(exitCode)
    if (listed === (exitCodes.operator === "In")) return action === "Restart" || action === "RestartAllContainers"
  }
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
export const initRestarts = (
  pod: Pod,
  container: Pick<Container, "restartPolicy" | "restartPolicyRules">,
  exitCode: number,
): boolean => exitCode !== 0 && restarts(pod, container, exitCode)
