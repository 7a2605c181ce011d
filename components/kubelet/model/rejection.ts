/** Why a node rejects a pod. */
export interface Rejection {
  /** The reason in one word: `OutOfcpu`, `NodePorts`, `SysctlForbidden` … */
  readonly reason: string
  readonly message: string
}

/** The reason of a pod that was ended, or not admitted, for what it or others take of the node. */
export const EVICTED = "Evicted"
