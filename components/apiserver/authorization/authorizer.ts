import type { MaybePromise } from "../call/maybe-promise.ts"
import type { AuthorizationDecision, NonResourceRequest, ResourceAttributes } from "../call/request.ts"

/**
 * Decides whether a user may make a request. Those of the cluster's own (nodes, RBAC) answer in the same turn, because
 * all they need is in memory; a webhook takes time.
 */
export interface Authorizer {
  authorize(request: ResourceAttributes | NonResourceRequest): MaybePromise<AuthorizationDecision>
}

/** An authorizer that answers in the same turn. What asks several questions one after the other gets one. */
export interface Decider {
  authorize(request: ResourceAttributes | NonResourceRequest): AuthorizationDecision
}
