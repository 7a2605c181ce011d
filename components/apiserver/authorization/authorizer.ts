import type { AuthorizationDecision, NonResourceRequest, ResourceAttributes } from "../request.ts"

/** Says whether a request may be made. Answers at once: all it needs is in memory. */
export interface Authorizer {
  authorize(request: ResourceAttributes | NonResourceRequest): AuthorizationDecision
}
