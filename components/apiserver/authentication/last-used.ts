import { LAST_USED, dayOf } from "../../../pkg/api/core/v1/secret/legacy-tokens.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { Client } from "../../../pkg/client/client.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"

/**
 * Returns a function that records in a token Secret the day of its last use. Source: patchSecretWithLastUsedDate in
 * pkg/serviceaccount/legacy.go.
 */
export function keepLastUsed({
  client,
  clock,
  log,
}: {
  client: () => Client
  clock: Clock
  log: Logger
}): (secret: Secret) => void {
  const underWay = new Set<string>()
  return ({ metadata }) => {
    const { uid = "", labels, namespace, name } = metadata
    const [lastUsed, today] = [labels?.[LAST_USED], dayOf(clock)]
    // The clock of another server may be a day ahead.
    if (lastUsed === today || lastUsed === dayOf(clock, 1) || underWay.has(uid)) return
    underWay.add(uid)
    client()
      .patch(
        Secret,
        { namespace, name },
        { type: "merge", body: { metadata: { uid, labels: { [LAST_USED]: today } } } },
        { fieldManager: "kube-apiserver" },
      )
      .catch((error: unknown) => {
        if (!isNotFound(error))
          log.warn("Failed to record the last use of a token", { secret: `${namespace}/${name}`, error })
      })
      .finally(() => underWay.delete(uid))
  }
}
