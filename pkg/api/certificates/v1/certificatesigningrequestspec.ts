import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { KEY_USAGES } from "../../../pki/request/sign-request.ts"

export const CertificateSigningRequestSpec = message(
  "certificates.v1.CertificateSigningRequestSpec",
  "The requested certificate, its usages, and the requesting user.",
  {
    request: f.bytes(1, "The PKCS #10 request as PEM.").required(),
    signerName: f.string(7, "Name of the signer: `<domain>/<path>`.").required().ownRule(),
    expirationSeconds: f.int32(8, "For how long it is wanted, at least 600; a signer may give less.").pointer(),
    usages: f
      .list(5, e.string, "What the key is to be used for.")
      .enum(...KEY_USAGES)
      .atomic(),
    username: f.string(2, "Name of the requesting user; set by the server."),
    uid: f.string(3, "Uid of the requesting user; set by the server."),
    groups: f.list(4, e.string, "Groups of the requesting user; set by the server.").atomic(),
    extra: f.map(6, e.listOf(e.string), "Further attributes of the requesting user; set by the server."),
  },
)
export interface CertificateSigningRequestSpec extends ObjectOf<typeof CertificateSigningRequestSpec> {}

export const CertificateSigningRequestCondition = message(
  "certificates.v1.CertificateSigningRequestCondition",
  "One aspect of a request's state.",
  {
    type: f.string(1, "Approved, Denied, Failed, or one of the signer's own.").printZero(),
    status: f.string(6, "True, False or Unknown; only True for the three above.").printZero(),
    reason: f.string(2, "Reason of the condition, in one word."),
    message: f.string(3, "Why, in words."),
    lastUpdateTime: f.time(4, "When the condition was last updated.").orNull(),
    lastTransitionTime: f.time(5, "When the status last changed.").orNull(),
  },
)
export interface CertificateSigningRequestCondition extends ObjectOf<typeof CertificateSigningRequestCondition> {}

export const CertificateSigningRequestStatus = message(
  "certificates.v1.CertificateSigningRequestStatus",
  "The decision about the request, and the issued certificate.",
  {
    conditions: f.list(1, CertificateSigningRequestCondition, "Whether it is approved or denied.").listMap("type"),
    certificate: f.bytes(2, "The issued certificate as PEM, possibly followed by intermediate certificates."),
  },
)
export interface CertificateSigningRequestStatus extends ObjectOf<typeof CertificateSigningRequestStatus> {}
