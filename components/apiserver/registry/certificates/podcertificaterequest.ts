import type { PodCertificateRequest } from "../../../../pkg/api/certificates/v1beta1/podcertificaterequest.ts"
import { invalid } from "../../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { forbiddenField, invalidValue } from "../../../../pkg/apimachinery/validation/field-errors.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { mayActForSigner } from "../../authorization/signers.ts"
import type { KindHooks } from "../context.ts"

const LARGEST_SKEW_MS = 5 * 60_000

/**
 * A user who writes the status of a PodCertificateRequest needs the right to sign for its signer, and a certificate
 * begins now. Source: pkg/registry/certificates/podcertificaterequest/strategy.go StatusStrategy.
 */
export const podCertificateRequestHooks = (clock: Clock): KindHooks<PodCertificateRequest> => ({
  checkWrite({ subresource, user, resource }, { metadata: { name = "" }, status }, old, decider) {
    if (subresource !== "status" || old === undefined || deepEqual(status, old.status)) return
    const { signerName } = old.spec
    if (!mayActForSigner(decider, user, "sign", signerName)) {
      const why = `User ${JSON.stringify(user.name)} is not permitted to "sign" for signer ${JSON.stringify(signerName)}`
      throw invalid(resource, name, [forbiddenField("spec.signerName", why)])
    }
    const { notBefore } = status
    if (typeof notBefore === "string" && Math.abs(Date.parse(notBefore) - clock.now()) >= LARGEST_SKEW_MS)
      throw invalid(resource, name, [
        invalidValue("status.notBefore", notBefore, "must be set to within 5 minutes of kube-apiserver's current time"),
      ])
  },
})
