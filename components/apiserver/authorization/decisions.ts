import { isPending, type MaybePromise } from "../call/maybe-promise.ts"
import type { AuthorizationDecision, NonResourceRequest, ResourceAttributes } from "../call/request.ts"
import type { Authorizer, Decider } from "./authorizer.ts"

/**
 * Thrown out of work that needs a decision which takes time. Whoever catches errors in such work must let it pass: the
 * work is done once more when the decision is known.
 */
export class Undecided extends Error {
  override readonly name = "Undecided"
  readonly key: string
  readonly decision: Promise<AuthorizationDecision>
  constructor(key: string, decision: Promise<AuthorizationDecision>) {
    super("an authorizer has not decided yet")
    this.key = key
    this.decision = decision
  }
}

/**
 * The decisions that one request needs beside its own. Work that asks for them is written as if each were known at
 * once: where an authorizer takes time, the work is left, and begins again when the decision has come. So it must
 * change nothing before its last question.
 */
export class Decisions implements Decider {
  readonly #authorizer: Authorizer
  #known: Map<string, AuthorizationDecision> | undefined

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer
  }

  /** @throws Undecided */
  authorize(request: ResourceAttributes | NonResourceRequest): AuthorizationDecision {
    const known = this.#known?.get(JSON.stringify(request))
    if (known !== undefined) return known
    const decision = this.#authorizer.authorize(request)
    if (isPending(decision)) throw new Undecided(JSON.stringify(request), decision)
    return decision
  }

  /** Does work that asks for decisions: in this turn where all are known. */
  run<T>(work: () => T): MaybePromise<T> {
    try {
      return work()
    } catch (err) {
      if (!(err instanceof Undecided)) throw err
      return err.decision.then((decision) => {
        this.#known ??= new Map()
        this.#known.set(err.key, decision)
        return this.run(work)
      })
    }
  }
}

/** Does work that asks for decisions, with an authorizer that answers at once. */
export function decidedBy<T>(authorizer: Authorizer, work: (decider: Decider) => T): MaybePromise<T> {
  const decisions = new Decisions(authorizer)
  return decisions.run(() => work(decisions))
}
