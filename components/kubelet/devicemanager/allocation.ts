import type { ContainerAllocation } from "./device-plugin-service.ts"

/** The devices of one resource that a container has. */
export interface Allocation {
  readonly podUid: string
  readonly container: string
  readonly resource: string
  readonly deviceIds: readonly string[]
  /** What the plugin answered when they were allocated. */
  readonly allocation: ContainerAllocation
}
