import { isPending, type MaybePromise } from "../call/maybe-promise.ts"
import type { AuthorizationDecision, NonResourceRequest, ResourceAttributes } from "../call/request.ts"
import type { Authorizer } from "./authorizer.ts"

const MASTERS = "system:masters"

/**
 * Asks each authorizer in turn until one allows the request, or denies it for good. Members of system:masters may do
 * anything, whatever the bindings. Source: apiserver pkg/authorization/union.
 */
export function authorizerChain(authorizers: readonly Authorizer[]): Authorizer {
  return {
    authorize(request) {
      if (request.user.groups.includes(MASTERS)) return ALLOWED
      return askFrom(authorizers, 0, request, [], [])
    },
  }
}

const ALLOWED: AuthorizationDecision = { allowed: true, reason: "" }

/** @param reasons and errors of the authorizers before `index`, which had no opinion */
function askFrom(
  authorizers: readonly Authorizer[],
  index: number,
  request: ResourceAttributes | NonResourceRequest,
  reasons: string[],
  errors: Error[],
): MaybePromise<AuthorizationDecision> {
  /** Whether the decision ends the search; notes why if not. */
  const isFinal = (decision: AuthorizationDecision): boolean => {
    if (decision.allowed || decision.isDenied === true) return true
    if (decision.reason !== "") reasons.push(decision.reason)
    if (decision.error !== undefined) errors.push(decision.error)
    return false
  }
  for (let i = index; i < authorizers.length; i++) {
    const decision = authorizers[i]!.authorize(request)
    if (isPending(decision))
      return decision.then((known) => (isFinal(known) ? known : askFrom(authorizers, i + 1, request, reasons, errors)))
    if (isFinal(decision)) return decision
  }
  return { allowed: false, reason: reasons.join(", "), ...(errors.length === 0 ? {} : { error: together(errors) }) }
}

const together = (errors: readonly Error[]): Error =>
  errors.length === 1 ? errors[0]! : new Error(`[${errors.map(({ message }) => message).join(", ")}]`)
