import type { NodeCondition } from "../../../pkg/api/core/v1/node/nodestatus.ts"
import { formatTime } from "../../../pkg/apimachinery/scalars/time.ts"
import type { Pressure } from "../model/pressure.ts"

export interface ConditionsRequest {
  readonly pressure: Pressure
  /** Why pods cannot run; empty when they can. */
  readonly problems: readonly string[]
  readonly before: readonly NodeCondition[]
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Source: pkg/kubelet/nodestatus/setters.go ReadyCondition, MemoryPressureCondition …. */
export function nodeConditions({ pressure, problems, before, now }: ConditionsRequest): readonly NodeCondition[] {
  const findings = [
    pressure.memory
      ? {
          type: "MemoryPressure",
          status: "True",
          reason: "KubeletHasInsufficientMemory",
          message: "kubelet has insufficient memory available",
        }
      : {
          type: "MemoryPressure",
          status: "False",
          reason: "KubeletHasSufficientMemory",
          message: "kubelet has sufficient memory available",
        },
    pressure.disk
      ? { type: "DiskPressure", status: "True", reason: "KubeletHasDiskPressure", message: "kubelet has disk pressure" }
      : {
          type: "DiskPressure",
          status: "False",
          reason: "KubeletHasNoDiskPressure",
          message: "kubelet has no disk pressure",
        },
    pressure.pid
      ? {
          type: "PIDPressure",
          status: "True",
          reason: "KubeletHasInsufficientPID",
          message: "kubelet has insufficient PID available",
        }
      : {
          type: "PIDPressure",
          status: "False",
          reason: "KubeletHasSufficientPID",
          message: "kubelet has sufficient PID available",
        },
    problems.length > 0
      ? {
          type: "Ready",
          status: "False",
          reason: "KubeletNotReady",
          message: problems.length === 1 ? problems[0]! : `[${problems.join(", ")}]`,
        }
      : { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" },
  ]
  return findings.map((finding) => {
    const old = before.find(({ type }) => type === finding.type)
    return {
      ...finding,
      lastHeartbeatTime: formatTime(now),
      lastTransitionTime:
        old?.status === finding.status && typeof old.lastTransitionTime === "string"
          ? old.lastTransitionTime
          : formatTime(now),
    }
  })
}

/** The events of changed conditions. */
export const CONDITION_EVENTS: Readonly<Record<string, readonly [whenTrue: string, whenFalse: string]>> = {
  MemoryPressure: ["NodeHasInsufficientMemory", "NodeHasSufficientMemory"],
  DiskPressure: ["NodeHasDiskPressure", "NodeHasNoDiskPressure"],
  PIDPressure: ["NodeHasInsufficientPID", "NodeHasSufficientPID"],
  Ready: ["NodeReady", "NodeNotReady"],
}
