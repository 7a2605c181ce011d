import { LeaseCandidate } from "../../../pkg/api/coordination/v1beta1/leasecandidate.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { defineController } from "../../../pkg/controller/controller.ts"
import { millis, VALID_MS } from "./candidates.ts"

/**
 * Deletes candidates that have not said for half an hour that they are there. Differs from upstream, which looks every
 * half hour: each is deleted when its time ends. Source: leasecandidategc_controller.go.
 */
export const leaseCandidateGC = defineController<LeaseCandidate>({
  name: "leasecandidate-gc-controller",
  reconciles: LeaseCandidate,
  async reconcile(key, { informers, client, clock }) {
    const candidate = informers.of(LeaseCandidate).get(key)
    if (candidate === undefined || candidate.metadata.deletionTimestamp !== undefined) return
    const { renewTime } = candidate.spec
    const { creationTimestamp, uid } = candidate.metadata
    const left = (millis(renewTime ?? creationTimestamp) ?? 0) + VALID_MS - clock.now()
    if (left > 0) return { requeueAfter: left, kind: "upkeep" }
    await client
      .delete(LeaseCandidate, candidate.metadata, uid === undefined ? {} : { preconditions: { uid } })
      .catch((err: unknown) => {
        if (!isNotFound(err)) throw err
      })
  },
})
