import {
  CertificateSigningRequest,
  CLIENT_SIGNER,
} from "../../../../pkg/api/certificates/v1/certificatesigningrequest.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import { readCertificateRequest } from "../../../../pkg/pki/request/certificate-request.ts"
import type { Decider } from "../../authorization/authorizer.ts"
import { decidedBy } from "../../authorization/decisions.ts"
import { on, type AdmissionPlugin, type AttributesOf } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"
import { mayActForSigner } from "../../authorization/signers.ts"

const ADMINISTRATORS = "system:masters"

/**
 * A user who approves or signs a certificate request needs the right to do so for its signer, and the signer of client
 * certificates issues none for the group of administrators. Source: plugin/pkg/admission/certificates.
 */
export const certificates = ({ authorizer }: AdmissionContext): readonly AdmissionPlugin[] => {
  /** Checks the signer of the stored request, since the request that was sent may name another one. */
  const check = (
    decider: Decider,
    { user, resource, name, old }: AttributesOf<CertificateSigningRequest>,
    verb: "approve" | "sign",
  ): void => {
    const signer = old?.spec.signerName ?? ""
    if (!mayActForSigner(decider, user, verb, signer))
      throw forbidden(
        resource,
        name,
        `user not permitted to ${verb} requests with signerName ${JSON.stringify(signer)}`,
      )
  }
  return [
    on(CertificateSigningRequest, {
      name: "CertificateApproval",
      operations: ["UPDATE"],
      subresources: ["approval"],
      validate: (attributes) => decidedBy(authorizer, (decider) => check(decider, attributes, "approve")),
    }),
    on(CertificateSigningRequest, {
      name: "CertificateSigning",
      operations: ["UPDATE"],
      subresources: ["status"],
      validate(attributes) {
        if (deepEqual(attributes.object.status, attributes.old?.status)) return undefined
        return decidedBy(authorizer, (decider) => check(decider, attributes, "sign"))
      },
    }),
    on(CertificateSigningRequest, {
      name: "CertificateSubjectRestriction",
      operations: ["CREATE"],
      validate({ resource, name, object: { spec } }) {
        if (spec.signerName !== CLIENT_SIGNER) return
        const { organizations } = readCertificateRequest(Buffer.from(spec.request, "base64").toString("latin1"))
        if (organizations.includes(ADMINISTRATORS))
          throw forbidden(resource, name, `use of ${CLIENT_SIGNER} signer with ${ADMINISTRATORS} group is not allowed`)
      },
    }),
  ]
}
