import type { AnyContainer } from "./containers.ts"
import type { RuntimeContainer } from "./runtime-pod.ts"

/** The results of the probes of running containers. */
export interface ProbeResults {
  /** Whether the container has passed its startup probe, or has none. */
  isStarted(container: AnyContainer, run: RuntimeContainer): boolean
  isReady(container: AnyContainer, run: RuntimeContainer): boolean
  /** Returns the failed probe for which the container must be killed. */
  failed(run: RuntimeContainer): FailedProbe | undefined
}
export interface FailedProbe {
  readonly probe: "startup" | "liveness"
  /** The probe's own grace period, if it has one. */
  readonly graceSeconds: number | undefined
}
