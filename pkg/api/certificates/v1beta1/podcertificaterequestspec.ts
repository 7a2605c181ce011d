import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { Condition } from "../../../apimachinery/meta.ts"

export const PodCertificateRequestSpec = message(
  "certificates.v1beta1.PodCertificateRequestSpec",
  "The key, for whom the certificate is, and who is to sign it. It cannot change.",
  {
    signerName: f.string(1, "Name of the signer.").required().ownRule(),
    podName: f.string(2, "Name of the pod.").required().ownRule(),
    podUID: f.string(3, "Uid of the pod.").required().ownRule(),
    serviceAccountName: f.string(4, "Name of the pod's service account.").required().ownRule(),
    serviceAccountUID: f.string(5, "Uid of the pod's service account.").required().ownRule(),
    nodeName: f.string(6, "Name of the pod's node.").required().ownRule(),
    nodeUID: f.string(7, "Uid of the pod's node.").required().ownRule(),
    maxExpirationSeconds: f
      .int32(8, "Longest lifetime of the certificate: at least 3600, and at most 91 days.")
      .default(86400)
      .pointer(),
    pkixPublicKey: f.bytes(9, "Deprecated: the public key; stubPKCS10Request has it.").orNull(),
    proofOfPossession: f.bytes(10, "Deprecated: the pod's uid, signed with the key.").orNull(),
    stubPKCS10Request: f
      .bytes(12, "A PKCS #10 request with the public key, signed with the private one.")
      .required()
      .ownRule(),
    unverifiedUserAnnotations: f.map(11, e.string, "What the pod tells the signer; nobody has checked it."),
  },
)
export interface PodCertificateRequestSpec extends ObjectOf<typeof PodCertificateRequestSpec> {}

export const PodCertificateRequestStatus = message(
  "certificates.v1beta1.PodCertificateRequestStatus",
  "The decision of the signer, and the certificate.",
  {
    conditions: f.list(1, Condition, "At most one of Issued, Denied and Failed.").listMap("type").merge("type"),
    certificateChain: f.string(2, "The certificate as PEM, and intermediate ones after it."),
    notBefore: f.time(4, "When the certificate begins to be valid."),
    beginRefreshAt: f.time(5, "When the kubelet is to request the next certificate."),
    notAfter: f.time(6, "When the certificate ends to be valid."),
  },
)
export interface PodCertificateRequestStatus extends ObjectOf<typeof PodCertificateRequestStatus> {}
