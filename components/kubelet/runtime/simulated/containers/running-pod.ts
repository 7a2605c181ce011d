import type { Container, EphemeralContainer } from "../../../../../pkg/api/core/v1/container/container.ts"
import type { ContainerConfig } from "../../../../../pkg/cri/container.ts"
import type { KeptSandboxConfig } from "./sandbox.ts"

/** What runs of a pod on a machine, as its status tells it. Times are in milliseconds since the epoch. */
export interface RunningPod {
  readonly config: KeptSandboxConfig
  readonly hostNetwork: boolean
  /** Its addresses, the main one first. */
  readonly ips: readonly string[]
  readonly createdAt: number
  readonly containers: readonly RunOfContainer[]
}

/** A container that runs, or has ended and is not started again yet. */
export interface RunOfContainer {
  readonly id: string
  readonly imageId: string
  /** What the pod's spec wants of it. */
  readonly container: Container | EphemeralContainer
  readonly isReady: boolean
  /** Whether it is always started again, so that it is not meant to end. */
  readonly isLasting: boolean
  readonly config: ContainerConfig
  readonly startedAt: number
  /** How it ended, if it has. */
  readonly end: { readonly exitCode: number; readonly reason: string; readonly finishedAt: number } | undefined
}
