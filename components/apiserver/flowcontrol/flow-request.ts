import type { NonResourceRequest, ResourceAttributes } from "../call/request.ts"
import type { Flow, SeatedRequest } from "./fair-queuing/queue-set.ts"

/** A request that holds seats or waits for them. */
export interface FlowRequest extends SeatedRequest {
  readonly flow: Flow
  /** The name of its FlowSchema. */
  readonly schema: string
  readonly attributes: ResourceAttributes | NonResourceRequest
}
