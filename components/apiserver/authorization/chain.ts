import type { Authorizer } from "./authorizer.ts"

const MASTERS = "system:masters"

/**
 * Asks each authorizer in turn until one allows the request. Members of system:masters may do anything, whatever the
 * bindings.
 */
export function authorizerChain(authorizers: readonly Authorizer[]): Authorizer {
  return {
    authorize(request) {
      if (request.user.groups.includes(MASTERS)) return { allowed: true, reason: "" }
      const reasons: string[] = []
      for (const authorizer of authorizers) {
        const decision = authorizer.authorize(request)
        if (decision.allowed) return decision
        if (decision.reason !== "") reasons.push(decision.reason)
      }
      return { allowed: false, reason: reasons.join(", ") }
    },
  }
}
