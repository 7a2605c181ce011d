import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Rejection } from "../model/rejection.ts"
import type { DeviceManager } from "../devicemanager/device-manager.ts"
import type { LogRotation } from "../logs/rotate.ts"
import type { ProbeManager } from "../probes/probe-manager.ts"
import type { StatusManager } from "../status/status-manager.ts"
import type { RunnerParts } from "./pod-runner.ts"
import type { UserNamespaces } from "../security/user-namespaces.ts"
import type { PodIdentity } from "../model/pod-identity.ts"
import type { resizeProblem } from "./resources/resize.ts"
import type { Slots } from "../model/slots.ts"

/** What all workers of pods share. */
export interface WorkerParts extends RunnerParts {
  readonly devices: DeviceManager
  readonly status: StatusManager
  readonly probes: ProbeManager
  readonly logs: LogRotation
  readonly userNamespaces: UserNamespaces
  /** Limits how many pods are cleaned up at once. */
  readonly clearing: Slots
  /** Returns why the pod may not run here; undefined when it may. Calls `taken` at the moment of its admission. */
  admit(pod: Pod, taken: () => void, signal: AbortSignal): Promise<Rejection | undefined>
  /** Returns why the node lacks the resources that the pod requests now; undefined when it has them. */
  resizeProblem(pod: Pod): ReturnType<typeof resizeProblem>
  /** Called when nothing of a pod is left. */
  finished(worker: { readonly identity: PodIdentity }): void
}
