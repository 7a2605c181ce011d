import type { Probe } from "../../../pkg/api/core/v1/container/probe.ts"

/** A check of a probe, as it will be made again. */
export interface ForeseenCheck {
  readonly containerId: string
  readonly podIp: string
  readonly probe: Probe
  /** The number of the port that the probe connects to; undefined for exec. */
  readonly port: number | undefined
}

/** What a machine in memory knows of checks before they are made. A real machine knows nothing. */
export interface ProbeForesight {
  /** Whether the check succeeds at once, whenever it is made, until something changes. */
  succeeds(check: ForeseenCheck): boolean
  /** Calls `changed` at each change on which checks of this container may depend. Returns a function that ends this. */
  onChange(containerId: string, changed: () => void): () => void
}
