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
      return askFrom(authorizers, 0, request, NOTHING)
    },
  }
}

const ALLOWED: AuthorizationDecision = { allowed: true, reason: "" }

/** What the authorizers said who had no opinion. */
interface Said {
  readonly reasons: readonly string[]
  readonly errors: readonly Error[]
}
const NOTHING: Said = { reasons: [], errors: [] }

/** @param before what the authorizers before `index` said */
function askFrom(
  authorizers: readonly Authorizer[],
  index: number,
  request: ResourceAttributes | NonResourceRequest,
  before: Said,
): MaybePromise<AuthorizationDecision> {
  let said = before
  for (let i = index; i < authorizers.length; i++) {
    const decision = authorizers[i]!.authorize(request)
    if (isPending(decision)) {
      const soFar = said
      return decision.then((known) =>
        isFinal(known) ? known : askFrom(authorizers, i + 1, request, withThat(soFar, known)),
      )
    }
    if (isFinal(decision)) return decision
    said = withThat(said, decision)
  }
  const { reasons, errors } = said
  return { allowed: false, reason: reasons.join(", "), ...(errors.length === 0 ? {} : { error: together(errors) }) }
}

const isFinal = ({ allowed, isDenied }: AuthorizationDecision): boolean => allowed || isDenied === true

const withThat = (said: Said, { reason, error }: AuthorizationDecision): Said =>
  reason === "" && error === undefined
    ? said
    : {
        reasons: reason === "" ? said.reasons : [...said.reasons, reason],
        errors: error === undefined ? said.errors : [...said.errors, error],
      }

const together = (errors: readonly Error[]): Error =>
  errors.length === 1 ? errors[0]! : new Error(`[${errors.map(({ message }) => message).join(", ")}]`)
