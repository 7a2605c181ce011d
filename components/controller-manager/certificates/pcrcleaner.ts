import { PodCertificateRequest } from "../../../pkg/api/certificates/v1beta1/podcertificaterequest.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { defineController } from "../../../pkg/controller/controller.ts"

/** How long a request is kept, whatever has become of it. */
const KEPT_MS = 15 * 60_000

/**
 * Deletes PodCertificateRequests a quarter of an hour after their creation. Differs from upstream, which looks every
 * five minutes: each request is deleted when its time ends. Source: pkg/controller/certificates/cleaner/pcrcleaner.go.
 */
export const podCertificateRequestCleaner = defineController<PodCertificateRequest>({
  name: "podcertificaterequest-cleaner-controller",
  reconciles: PodCertificateRequest,
  async reconcile(key, { informers, client, clock }) {
    const request = informers.of(PodCertificateRequest).get(key)
    if (request === undefined || request.metadata.deletionTimestamp !== undefined) return
    const { creationTimestamp, uid } = request.metadata
    const left = Date.parse(creationTimestamp ?? "") + KEPT_MS - clock.now()
    if (left > 0) return { requeueAfter: left, kind: "upkeep" }
    await client
      .delete(PodCertificateRequest, request.metadata, uid === undefined ? {} : { preconditions: { uid } })
      .catch((err: unknown) => {
        if (!isNotFound(err)) throw err
      })
  },
})
