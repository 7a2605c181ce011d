import type { AuthorizationDecision, NonResourceRequest, ResourceAttributes } from "../call/request.ts"

/** Decides whether a user may make a request. It answers in the same turn, because all it needs is in memory. */
export interface Authorizer {
  authorize(request: ResourceAttributes | NonResourceRequest): AuthorizationDecision
}
