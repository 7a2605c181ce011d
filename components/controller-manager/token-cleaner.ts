import { BOOTSTRAP_NAMESPACE, BOOTSTRAP_TOKEN, tokenExpiration } from "../../pkg/api/core/v1/secret/bootstrap-token.ts"
import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import { isConflict, isNotFound } from "../../pkg/apimachinery/errors.ts"
import { defineController } from "../../pkg/controller/controller.ts"

/** Deletes bootstrap tokens when they expire. Source: pkg/controller/bootstrap/tokencleaner.go. */
export const tokenCleaner = defineController<Secret>({
  name: "token-cleaner-controller",
  reconciles: Secret,
  concerns: ({ type, metadata }) => type === BOOTSTRAP_TOKEN && metadata.namespace === BOOTSTRAP_NAMESPACE,
  async reconcile(key, { informers, client, clock }) {
    const secret = informers.of(Secret).get(key)
    if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return
    const expires = tokenExpiration(secret)
    if (expires === undefined) return
    const left = expires - clock.now()
    if (left > 0) return { requeueAfter: left, kind: "upkeep" }
    const { uid } = secret.metadata
    try {
      await client.delete(Secret, secret.metadata, uid === undefined ? {} : { preconditions: { uid } })
    } catch (err) {
      if (!isNotFound(err) && !isConflict(err)) throw err
    }
  },
})
