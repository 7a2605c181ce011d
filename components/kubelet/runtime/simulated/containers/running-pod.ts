import type { Container, EphemeralContainer } from "../../../../../pkg/api/core/v1/container/container.ts"
import type { ContainerConfig } from "../../../../../pkg/cri/container.ts"
import type { KeptSandboxConfig, Sandbox } from "./sandbox.ts"

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

/** Shared by all sandboxes that are made of running pods, which have no annotations for the runtime. */
const NONE = {}

/** Returns a sandbox, without containers yet, for what runs of a pod. */
export const sandboxOf = (pod: RunningPod, id: string, nodeIps: readonly string[]): Sandbox => ({
  id,
  config: { ...pod.config, annotations: NONE },
  namespaces: undefined,
  hostNetwork: pod.hostNetwork,
  ips: pod.hostNetwork ? nodeIps : pod.ips,
  createdAt: pod.createdAt,
  handler: "",
  ready: true,
  containers: [],
})
