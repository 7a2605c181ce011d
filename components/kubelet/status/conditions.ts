import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerStatus, PodCondition } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { couldRestartAll } from "../../../pkg/api/core/v1/container/container-restart.ts"
import { isSidecar } from "../model/containers.ts"
import { RESIZE_CONDITIONS } from "../../../pkg/api/core/v1/pod/resources/in-force.ts"
import { RESTARTING_CONDITION } from "../model/restart-all.ts"
import { statusOf } from "./container-status.ts"
import type { Phase } from "./phase.ts"

/** A condition without its times, which depend on the condition that was reported before. */
export type Finding = Pick<PodCondition, "type" | "status" | "reason" | "message">

/** The conditions that the kubelet sets. */
export const OWN_CONDITIONS: ReadonlySet<string> = new Set([
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
  RESTARTING_CONDITION,
  RESIZE_CONDITIONS.pending,
  RESIZE_CONDITIONS.inProgress,
])

export interface ConditionsRequest {
  readonly pod: Pod
  readonly phase: Phase
  /** The conditions that were reported last. */
  readonly before: readonly PodCondition[]
  /** Whether containers are being removed, so that all start again. */
  readonly restartsAll: boolean
  readonly initStatuses: readonly ContainerStatus[]
  readonly statuses: readonly ContainerStatus[]
  /** Whether a ready sandbox with a network exists. */
  readonly hasSandbox: boolean
}

/** Returns the conditions that the kubelet sets. Source: pkg/kubelet/status/generate.go. */
export function findings(request: ConditionsRequest): Finding[] {
  const containersReady = containersReadyOf(request)
  return [
    { type: "PodReadyToStartContainers", status: request.hasSandbox ? "True" : "False" },
    initialized(request),
    readyOf(request, containersReady),
    { ...containersReady, type: "ContainersReady" },
    { type: "PodScheduled", status: "True" },
    ...(couldRestartAll(request.pod.spec) ? [restarting(request)] : []),
  ]
}

function restarting({ phase, restartsAll }: ConditionsRequest): Finding {
  const type = RESTARTING_CONDITION
  if (phase === "Succeeded") return { type, status: "False", reason: "PodCompleted" }
  if (phase === "Failed") return { type, status: "False", reason: "PodFailed" }
  if (!restartsAll) return { type, status: "False" }
  const message = "container exited with restart policy rule"
  return { type, status: "True", reason: "RestartAllContainersStarted", message }
}

function initialized({ pod, phase, before, initStatuses, statuses }: ConditionsRequest): Finding {
  const type = "Initialized"
  const unknown: string[] = []
  const incomplete: string[] = []
  for (const container of pod.spec.initContainers ?? []) {
    const status = statusOf(initStatuses, container.name)
    if (status === undefined) unknown.push(container.name)
    else if (isSidecar(container) ? status.started !== true : !status.ready) incomplete.push(container.name)
  }
  if (phase === "Succeeded" && unknown.length === 0) return { type, status: "True", reason: "PodCompleted" }
  const started = statuses.some(
    ({ state, lastState }) =>
      state.running !== undefined || state.terminated !== undefined || lastState.terminated !== undefined,
  )
  // A pod that was initialized stays so while its init containers run again.
  const wasInitialized = before.some((condition) => condition.type === type && condition.status === "True")
  if (started || wasInitialized) return { type, status: "True" }
  const message = sentences(
    ["containers with unknown status", unknown],
    ["containers with incomplete status", incomplete],
  )
  return message === ""
    ? { type, status: "True" }
    : { type, status: "False", reason: "ContainersNotInitialized", message }
}

function containersReadyOf({ pod, phase, initStatuses, statuses }: ConditionsRequest): Finding {
  const type = "ContainersReady"
  const unknown: string[] = []
  const unready: string[] = []
  const check = (status: ContainerStatus | undefined, name: string) => {
    if (status === undefined) unknown.push(name)
    else if (!status.ready) unready.push(name)
  }
  for (const container of pod.spec.initContainers ?? [])
    if (isSidecar(container)) check(statusOf(initStatuses, container.name), container.name)
  for (const { name } of pod.spec.containers) check(statusOf(statuses, name), name)
  if (phase === "Succeeded" && unknown.length === 0) return { type, status: "False", reason: "PodCompleted" }
  if (phase === "Failed") return { type, status: "False", reason: "PodFailed" }
  const message = sentences(["containers with unknown status", unknown], ["containers with unready status", unready])
  return message === "" ? { type, status: "True" } : { type, status: "False", reason: "ContainersNotReady", message }
}

function readyOf({ pod }: ConditionsRequest, containersReady: Finding): Finding {
  if (containersReady.status !== "True") return { ...containersReady, type: "Ready" }
  const problems: string[] = []
  const { readinessGates = [] } = pod.spec
  const known = readinessGates.length === 0 ? undefined : firstByType(pod.status.conditions ?? [])
  for (const { conditionType } of readinessGates) {
    const gate = known?.get(conditionType)
    if (gate === undefined)
      problems.push(`corresponding condition of pod readiness gate "${conditionType}" does not exist.`)
    else if (gate.status !== "True")
      problems.push(`the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`)
  }
  return problems.length === 0
    ? { type: "Ready", status: "True" }
    : { type: "Ready", status: "False", reason: "ReadinessGatesNotReady", message: problems.join(", ") }
}

/** Formats lists as Go prints them: `[a b]`. */
const sentences = (...parts: readonly (readonly [string, readonly string[]])[]): string =>
  parts
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `${what}: [${names.join(" ")}]`)
    .join(", ")

/** Returns the first condition of each type. */
export function firstByType<T extends { readonly type: string }>(conditions: readonly T[]): ReadonlyMap<string, T> {
  const found = new Map<string, T>()
  for (const condition of conditions) if (!found.has(condition.type)) found.set(condition.type, condition)
  return found
}
