import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerStatus } from "../../../../pkg/api/core/v1/pod/podstatus.ts"
import { pushAll } from "../../../../pkg/lists/push-all.ts"
import type { Diagnosis } from "../../../scheduler/framework.ts"

/**
 * Returns the state of a pod that is not ready, a line each, by its status and by what the scheduler found. Why it is
 * so is told by `cluster.why`: this asks nobody, so a report has it while the API server is down too.
 */
export function podInWords({ metadata, spec, status }: Pod, diagnosis: Diagnosis | undefined): readonly string[] {
  return [
    `Pod ${metadata.namespace ?? ""}/${metadata.name ?? ""} is ${status.phase ?? "Pending"}`,
    ...reasonsOf({ metadata, spec, status }, diagnosis).map((reason) => `  ${reason}`),
    ...(spec.nodeName ? [] : refusals(diagnosis)),
  ]
}

/** Returns which plugin of the scheduler has refused each node. */
function refusals(diagnosis: Diagnosis | undefined): readonly string[] {
  if (diagnosis === undefined) return []
  const { preFilter, nodes } = diagnosis
  const line = (node: string, { plugin, status }: NonNullable<typeof preFilter>) =>
    `  node ${node}: ${plugin}: ${status.reasons.join(", ")}`
  return [
    ...(preFilter === undefined ? [] : [line("*", preFilter)]),
    ...[...nodes].map(([node, refusal]) => line(node, refusal)),
  ]
}

function reasonsOf(
  { metadata, spec, status }: Pick<Pod, "metadata" | "spec" | "status">,
  diagnosis: Diagnosis | undefined,
): readonly string[] {
  const reasons: string[] = []
  if (metadata.deletionTimestamp !== undefined)
    reasons.push(
      "is being deleted, until " +
        `${metadata.deletionTimestamp}${(metadata.finalizers ?? []).length > 0 ? `; finalizers: ${metadata.finalizers!.join(", ")}` : ""}`,
    )
  if (status.reason !== undefined) reasons.push(`${status.reason}: ${status.message ?? ""}`)
  if (!spec.nodeName) {
    const condition = status.conditions?.find(({ type }) => type === "PodScheduled")
    if (condition?.message !== undefined) reasons.push(`${condition.reason ?? "Unschedulable"}: ${condition.message}`)
    else if (diagnosis === undefined) reasons.push("no scheduler has looked at it yet")
  } else if ((status.containerStatuses ?? []).length === 0 && status.phase !== "Failed" && status.phase !== "Succeeded")
    reasons.push(`the kubelet of node ${spec.nodeName} has not taken it up`)
  for (const container of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])])
    pushAll(reasons, containerReasons(container))
  return reasons
}

function containerReasons({ name, state, lastState, ready, restartCount }: ContainerStatus): readonly string[] {
  const last = lastState.terminated
  // While the container waits for its next run, its last one is not counted in restartCount yet.
  const ends = state.running === undefined ? restartCount + 1 : restartCount
  const ended =
    last === undefined
      ? ""
      : `; it ended ${ends === 1 ? "once," : `${ends} times, last`} with exit code ${last.exitCode} ` +
        `(${last.reason ?? ""})${last.message ? `: ${last.message}` : ""}`
  if (state.waiting !== undefined)
    return [
      `container ${name} waits: ` +
        `${state.waiting.reason ?? ""}${state.waiting.message ? `: ${state.waiting.message}` : ""}${ended}`,
    ]
  if (state.terminated !== undefined) {
    const { exitCode, reason = "", message = "" } = state.terminated
    return exitCode === 0
      ? []
      : [`container ${name} ended with exit code ${exitCode} (${reason})${message === "" ? "" : `: ${message}`}`]
  }
  return ready
    ? []
    : [`container ${name} runs and is not ready: its readiness or startup probe has not succeeded${ended}`]
}
