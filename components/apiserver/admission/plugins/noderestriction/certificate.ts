import { Buffer } from "node:buffer"
import {
  KUBELET_CLIENT_SIGNER,
  KUBELET_SERVING_SIGNER,
  CertificateSigningRequest,
} from "../../../../../pkg/api/certificates/v1/certificatesigningrequest.ts"
import { forbidden } from "../../../../../pkg/apimachinery/errors.ts"
import { asKind } from "../../../../../pkg/apimachinery/resource.ts"
import { readCertificateRequest } from "../../../../../pkg/pki/request/certificate-request.ts"
import type { AdmissionAttributes } from "../../admission.ts"

/**
 * Allows a node to request certificates for its own name only. Source: admitCSR of
 * plugin/pkg/admission/noderestriction.
 */
export function checkCertificateRequest(
  { operation, resource, name, object }: AdmissionAttributes,
  node: string,
): void {
  if (operation !== "CREATE") return
  const { spec } = asKind(CertificateSigningRequest, object)
  if (spec.signerName !== KUBELET_SERVING_SIGNER && spec.signerName !== KUBELET_CLIENT_SIGNER) return
  const { commonName } = readCertificateRequest(Buffer.from(spec.request, "base64").toString("latin1"))
  if (commonName !== `system:node:${node}`)
    throw forbidden(resource, name, `can only create a node CSR with CN=system:node:${node}`)
}
