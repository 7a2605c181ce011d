import {
  APPROVED,
  CLIENT_SIGNER,
  DENIED,
  FAILED,
  KUBELET_CLIENT_SIGNER,
  KUBELET_SERVING_SIGNER,
  type CertificateSigningRequest,
} from "../../../pkg/api/certificates/v1/certificatesigningrequest.ts"
import { readCertificateRequest, type CertificateRequest } from "../../../pkg/pki/request/certificate-request.ts"

/** Which requests the cluster's own signers sign. Source: pkg/apis/certificates/helpers.go, signer/signer.go. */

const NODES = "system:nodes"
const NODE_PREFIX = "system:node:"
const KEY_USAGES = ["digital signature", "key encipherment"]

/** Parses the PKCS #10 request. A stored request was validated at its creation, so this does not throw. */
export const certificateRequestOf = ({ spec }: CertificateSigningRequest): CertificateRequest =>
  readCertificateRequest(Buffer.from(spec.request, "base64").toString("latin1"))

export const isApproved = (request: CertificateSigningRequest): boolean =>
  has(request, APPROVED) && !has(request, DENIED)
export const isDecided = (request: CertificateSigningRequest): boolean => has(request, APPROVED) || has(request, DENIED)
export const hasFailed = (request: CertificateSigningRequest): boolean =>
  request.status.conditions?.some(({ type, status }) => type === FAILED && status === "True") === true

const has = ({ status }: CertificateSigningRequest, wanted: string): boolean =>
  status.conditions?.some(({ type }) => type === wanted) === true

/** A signer: why it refuses a request, and the authority it signs with. */
export interface Signer {
  readonly authority: "client-ca" | "server-ca"
  refusal(request: CertificateRequest, usages: readonly string[]): string | undefined
}

/** kubernetes.io/legacy-unknown is left out, because requests cannot name it any more. */
const SIGNERS: Readonly<Record<string, Signer>> = {
  [CLIENT_SIGNER]: { authority: "client-ca", refusal: (_request, usages) => clientUsageRefusal(usages) },
  [KUBELET_CLIENT_SIGNER]: { authority: "client-ca", refusal: kubeletClientRefusal },
  // A serving certificate must not authenticate a client, so another authority signs it.
  [KUBELET_SERVING_SIGNER]: { authority: "server-ca", refusal: kubeletServingRefusal },
}

export const signerOf = ({ spec }: CertificateSigningRequest): Signer | undefined =>
  Object.hasOwn(SIGNERS, spec.signerName) ? SIGNERS[spec.signerName] : undefined

function clientUsageRefusal(usages: readonly string[]): string | undefined {
  const other = usages.find((usage) => usage !== "client auth" && !KEY_USAGES.includes(usage))
  if (other !== undefined) return `invalid usage for client certificate: ${other}`
  return usages.includes("client auth") ? undefined : "missing required usage for client certificate: client auth"
}

/** Returns why a request does not fit the client certificate of a kubelet; undefined when it does. */
export function kubeletClientRefusal(request: CertificateRequest, usages: readonly string[]): string | undefined {
  if (!isOfNodes(request)) return "subject organization is not system:nodes"
  if (request.dnsNames.length > 0) return "DNS subjectAltNames are not allowed"
  if (request.emailAddresses.length > 0) return "Email subjectAltNames are not allowed"
  if (request.ipAddresses.length > 0) return "IP subjectAltNames are not allowed"
  if (request.uris.length > 0) return "URI subjectAltNames are not allowed"
  return nameRefusal(request) ?? usageRefusal(usages, "client auth")
}

function kubeletServingRefusal(request: CertificateRequest, usages: readonly string[]): string | undefined {
  if (!isOfNodes(request)) return "subject organization is not system:nodes"
  if (request.dnsNames.length === 0 && request.ipAddresses.length === 0) return "DNS or IP subjectAltName is required"
  if (request.emailAddresses.length > 0) return "Email subjectAltNames are not allowed"
  if (request.uris.length > 0) return "URI subjectAltNames are not allowed"
  return usageRefusal(usages, "server auth") ?? nameRefusal(request)
}

const isOfNodes = ({ organizations }: CertificateRequest): boolean =>
  organizations.length === 1 && organizations[0] === NODES

const nameRefusal = ({ commonName }: CertificateRequest): string | undefined =>
  commonName.startsWith(NODE_PREFIX) ? undefined : "subject common name does not begin with system:node:"

/** Requires exactly these usages; key encipherment may be left out, because only RSA keys need it. */
function usageRefusal(usages: readonly string[], auth: string): string | undefined {
  const wanted = new Set([...KEY_USAGES, auth])
  const given = new Set(usages)
  const isAll = given.symmetricDifference(wanted).size === 0
  wanted.delete("key encipherment")
  return isAll || given.symmetricDifference(wanted).size === 0
    ? undefined
    : `usages did not match [${[...[...KEY_USAGES, auth]].sort().join(" ")}]`
}
