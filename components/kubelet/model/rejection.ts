/** Why a node rejects a pod. */
export interface Rejection {
  /** The reason in one word: `OutOfcpu`, `NodePorts`, `SysctlForbidden` … */
  readonly reason: string
  readonly message: string
}
