import { isReason } from "../../../pkg/apimachinery/errors.ts"

/**
 * Passes what `decide` returns to `proceed`. Where `decide` refuses who sends a request, or what it is to do, and servers
 * share the store, it decides again when this server knows what the others have written: a token or a RoleBinding that
 * was made through another server counts at once. What was allowed is not checked again, as in upstream, whose
 * informers are behind too: a right that another server has taken away may last a moment longer here.
 */
export function decidedWhenFresh<T>(
  freshen: (() => Promise<void>) | undefined,
  decide: () => T,
  proceed: (decision: T) => void | Promise<void>,
): void | Promise<void> {
  let decision: T
  try {
    decision = decide()
  } catch (err) {
    if (freshen === undefined || !isReason(err, "Unauthorized", "Forbidden")) throw err
    // A store that cannot be reached changes nothing about the refusal.
    return freshen().then(
      () => proceed(decide()),
      () => Promise.reject(err as Error),
    )
  }
  return proceed(decision)
}
