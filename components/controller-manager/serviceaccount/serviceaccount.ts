import { isAlreadyExists, isReason } from "../../../pkg/apimachinery/errors.ts"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { defineController } from "../../../pkg/controller/controller.ts"

/**
 * Creates the service account `default` in every namespace. Source:
 * pkg/controller/serviceaccount/serviceaccounts_controller.go.
 */
export const serviceAccountController = defineController<Namespace>({
  name: "serviceaccount-controller",
  reconciles: Namespace,
  watches: [
    {
      resource: ServiceAccount,
      keys: ({ metadata }, _context, _old, deleted) =>
        deleted && metadata.name === "default" ? [metadata.namespace ?? ""] : [],
    },
  ],
  async reconcile(key, { informers, client }) {
    const namespace = informers.of(Namespace).get(key)
    if (
      namespace === undefined ||
      namespace.status.phase === "Terminating" ||
      informers.of(ServiceAccount).get(`${key}/default`) !== undefined
    )
      return
    try {
      await client.create(ServiceAccount, { metadata: { name: "default", namespace: key } })
    } catch (err) {
      if (!isAlreadyExists(err) && !isReason(err, "NotFound", "Forbidden")) throw err // the namespace is being deleted
    }
  },
})
