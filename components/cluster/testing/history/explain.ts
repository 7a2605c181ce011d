import { Event } from "../../../../pkg/api/core/v1/event/event.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerStatus } from "../../../../pkg/api/core/v1/pod/podstatus.ts"
import type { Client } from "../../../../pkg/client/client.ts"
import type { Diagnosis } from "../../../scheduler/framework.ts"
import { pushAll } from "../../../../pkg/lists/push-all.ts"

/** Why a pod is not running and ready. */
export interface Explanation {
  readonly pod: string
  readonly phase: string
  readonly ready: boolean
  /** One line each, the most important first; empty for a pod that runs and is ready. */
  readonly reasons: readonly string[]
  /** Which plugin rejected each node, and why, when the pod is not scheduled. */
  readonly nodes: readonly { readonly node: string; readonly plugin: string; readonly reason: string }[]
  /** Events of the pod, oldest first: `Warning BackOff: …`. */
  readonly events: readonly string[]
  /** Returns everything as text. */
  toString(): string
}

export async function explainPod(pod: Pod, client: Client, diagnosis: Diagnosis | undefined): Promise<Explanation> {
  const { metadata } = pod
  const { items } = await client.list(Event, {
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    fieldSelector: `involvedObject.uid=${metadata.uid}`,
  })
  return explanationOf(pod, items, diagnosis)
}

/** Returns why a pod is not running and ready, from its status, its Events and what the scheduler found. */
export function explanationOf(
  { metadata, spec, status }: Pod,
  about: readonly Event[],
  diagnosis: Diagnosis | undefined,
): Explanation {
  const events = about.map(
    ({ type, reason, message, count = 1 }) => `${type} ${reason}: ${message}${count > 1 ? ` (${count} times)` : ""}`,
  )
  const ready = status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true
  const name = `${metadata.namespace ?? ""}/${metadata.name ?? ""}`
  const nodes =
    spec.nodeName || diagnosis === undefined
      ? []
      : [
          ...(diagnosis.preFilter === undefined
            ? []
            : [
                {
                  node: "*",
                  plugin: diagnosis.preFilter.plugin,
                  reason: diagnosis.preFilter.status.reasons.join(", "),
                },
              ]),
          ...[...diagnosis.nodes].map(([node, { plugin, status: refusal }]) => ({
            node,
            plugin,
            reason: refusal.reasons.join(", "),
          })),
        ]
  const reasons = ready ? [] : reasonsOf({ metadata, spec, status }, diagnosis)
  const phase = status.phase ?? "Pending"
  const text = [
    `Pod ${name} is ${phase}${ready ? " and ready" : ""}`,
    ...reasons.map((reason) => `  ${reason}`),
    ...nodes.map(({ node, plugin, reason }) => `  node ${node}: ${plugin}: ${reason}`),
    ...(events.length === 0 ? [] : ["  events:", ...events.map((event) => `    ${event}`)]),
  ].join("\n")
  return { pod: name, phase, ready, reasons, nodes, events, toString: () => text }
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
