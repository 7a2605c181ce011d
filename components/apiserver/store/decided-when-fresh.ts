import { isReason } from "../../../pkg/apimachinery/errors.ts"
import { isPending, type MaybePromise } from "../call/maybe-promise.ts"

/**
 * Passes what `decide` returns to `proceed`. Where `decide` refuses who sends a request, or what it is to do, and servers
 * share the store, it decides again when this server knows what the others have written: a token or a RoleBinding that
 * was made through another server counts at once. What was allowed is not checked again, as in upstream, whose
 * informers are behind too: a right that another server has taken away may last a moment longer here.
 */
export function decidedWhenFresh<T>(
  freshen: (() => Promise<void>) | undefined,
  decide: () => MaybePromise<T>,
  proceed: (decision: T) => void | Promise<void>,
): void | Promise<void> {
  let decision: MaybePromise<T>
  try {
    decision = decide()
  } catch (err) {
    return again(freshen, decide, proceed, err)
  }
  if (!isPending(decision)) return proceed(decision)
  return decision.then(proceed, (err: unknown) => again(freshen, decide, proceed, err))
}

/** Decides once more after a refusal, if that may change anything. @throws the refusal if not */
function again<T>(
  freshen: (() => Promise<void>) | undefined,
  decide: () => MaybePromise<T>,
  proceed: (decision: T) => void | Promise<void>,
  refusal: unknown,
): Promise<void> {
  if (freshen === undefined || !isReason(refusal, "Unauthorized", "Forbidden")) throw refusal
  // A store that cannot be reached changes nothing about the refusal.
  return freshen().then(
    async () => {
      const decision = decide()
      return proceed(isPending(decision) ? await decision : decision)
    },
    () => Promise.reject(refusal as Error),
  )
}
