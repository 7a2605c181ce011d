import type { RowCondition } from "../../../../apimachinery/resource.ts"
import { humanDuration, parseTime } from "../../../../apimachinery/scalars/time.ts"
import type { Container } from "../container/container.ts"
import type { PodSpec } from "./podspec.ts"
import type { ContainerStatus, PodStatus } from "./podstatus.ts"
import { largest } from "../../../../lists/extremes.ts"

/** The parts of a pod that its columns show. */
export interface PodView {
  readonly metadata: { readonly deletionTimestamp?: string | undefined }
  readonly spec: PodSpec
  readonly status: PodStatus
}

/** The columns of a pod in `kubectl get pods`. */
export interface PodSummary {
  /** The column STATUS: `Running`, `Init:0/2`, `CrashLoopBackOff`, `Terminating` … */
  readonly status: string
  readonly ready: number
  /** The number of containers and sidecars. */
  readonly total: number
  readonly restarts: number
  /** When a container last ended before a restart, in milliseconds since the epoch. */
  readonly lastRestart: number | undefined
}

/** Whether an init container is a sidecar, which keeps running beside the containers. */
export const isSidecar = (container: Container | undefined): boolean => container?.restartPolicy === "Always"

/**
 * Returns the columns of a pod. Source: printPod in pkg/printers/internalversion/printers.go, in the same order of
 * rules.
 */
export function summarizePod({ metadata, spec, status }: PodView): PodSummary {
  const { initContainers = [] } = spec
  const { conditions = [], initContainerStatuses = [], containerStatuses = [], phase = "" } = status
  const holds = (type: string) => conditions.some((condition) => condition.type === type && condition.status === "True")

  let reason = (status.reason ?? "") === "" ? (phase as string) : status.reason!
  if (conditions.some(({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated"))
    reason = "SchedulingGated"

  const sidecars = new Set(initContainers.filter(isSidecar).map(({ name }) => name))
  let ready = 0
  let initializing = false
  let seen = 0
  for (const [i, container] of initContainerStatuses.entries()) {
    seen = i + 1
    const { terminated, waiting } = container.state
    if (terminated?.exitCode === 0) continue
    if (sidecars.has(container.name) && container.started === true) {
      if (container.ready) ready++
      continue
    }
    initializing = true
    if (terminated !== undefined) reason = `Init:${endOf(terminated)}`
    else if ((waiting?.reason ?? "") !== "" && waiting!.reason !== "PodInitializing") reason = `Init:${waiting!.reason}`
    else reason = `Init:${i}/${initContainers.length}`
    break
  }
  // Only statuses up to the init container that runs now are counted.
  let restarts = restartsOf(initContainerStatuses.slice(0, seen))

  if (!initializing || holds("Initialized")) {
    restarts = restartsOf([
      ...initContainerStatuses.slice(0, seen).filter(({ name }) => sidecars.has(name)),
      ...containerStatuses,
    ])
    let running = false
    for (const {
      ready: isReady,
      state: { waiting, terminated, running: runs },
    } of containerStatuses.toReversed()) {
      if ((waiting?.reason ?? "") !== "") reason = waiting!.reason!
      else if (terminated !== undefined) reason = endOf(terminated)
      else if (isReady && runs !== undefined) {
        running = true
        ready++
      }
    }
    // One container has completed, another still runs.
    if (reason === "Completed" && running) reason = holds("Ready") ? "Running" : "NotReady"
  }

  if (metadata.deletionTimestamp !== undefined) {
    if (status.reason === "NodeLost") reason = "Unknown"
    else if (phase !== "Succeeded" && phase !== "Failed") reason = "Terminating"
  }
  return {
    status: reason,
    ready,
    total: (spec.containers?.length ?? 0) + sidecars.size,
    restarts: restarts.count,
    lastRestart: restarts.last,
  }
}

const endOf = ({
  reason = "",
  signal = 0,
  exitCode,
}: {
  readonly reason?: string | undefined
  readonly signal?: number | undefined
  readonly exitCode: number
}): string => (reason !== "" ? reason : signal !== 0 ? `Signal:${signal}` : `ExitCode:${exitCode}`)

function restartsOf(statuses: readonly ContainerStatus[]): {
  readonly count: number
  readonly last: number | undefined
} {
  const ends = statuses.flatMap(({ lastState }) => parseTime(lastState.terminated?.finishedAt ?? "") ?? [])
  return {
    count: statuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
    last: ends.length === 0 ? undefined : largest(ends),
  }
}

/** Returns the restarts as `3 (5m ago)`; only the number when the time of the last restart is unknown. */
export function restartsCell(pod: PodView, now: number): string {
  const { restarts, lastRestart } = summarizePod(pod)
  return restarts === 0 || lastRestart === undefined
    ? String(restarts)
    : `${restarts} (${humanDuration(now - lastRestart)} ago)`
}

/** Returns how many of the pod's readiness gates are true, as `1/2`; undefined for a pod without gates. */
export function readinessGatesCell({ spec, status }: PodView): string | undefined {
  const gates = spec.readinessGates ?? []
  if (gates.length === 0) return undefined
  const passed = gates.filter(
    ({ conditionType }) => status.conditions?.find(({ type }) => type === conditionType)?.status === "True",
  )
  return `${passed.length}/${gates.length}`
}

/** Returns the condition of the row of a pod that has completed; clients may hide such rows. */
export function completedCondition({ status: { phase } }: PodView): readonly RowCondition[] {
  const completed = (reason: string, message: string): readonly RowCondition[] => [
    { type: "Completed", status: "True", reason, message },
  ]
  switch (phase) {
    case "Succeeded":
      return completed(phase, "The pod has completed successfully.")
    case "Failed":
      return completed(phase, "The pod failed.")
    default:
      return []
  }
}
