/**
 * Reading the subject of a certificate from its bytes. `X509Certificate.subject` is text for people: it escapes
 * characters, and joins several organizations. Permissions depend on these names, so they are read exactly.
 */
import { X509Certificate } from "node:crypto"
import { type DerValue, oid, readAll, sequence, TAG } from "./der.ts"

/** Whom a certificate identifies. In a client certificate `commonName` is the user, `organizations` are the groups. */
export interface Subject {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** The UID of the user, once for each time that it is there. Source: KEP-5589 (user UIDs in certificates). */
  readonly uids?: readonly string[]
}

const COMMON_NAME = oid("2.5.4.3")
const ORGANIZATION = oid("2.5.4.10")
/** The attribute that is a user's UID. Source: apimachinery pkg/apis/asn1/oid.go. */
export const USER_UID = "1.3.6.1.4.1.57683.2"
const UID = oid(USER_UID)

/** Reads the subject of a certificate, which is DER or PEM. @throws Error when it cannot be read */
export function subjectOf(certificate: Buffer | string): Subject {
  let commonName = ""
  const organizations: string[] = []
  const uids: string[] = []
  for (const rdn of readAll(subjectField(new X509Certificate(certificate)).content)) {
    for (const attribute of readAll(rdn.content)) {
      const [type, value] = readAll(attribute.content)
      if (type === undefined || value === undefined) continue
      if (COMMON_NAME.subarray(2).equals(type.content)) commonName = text(value)
      if (ORGANIZATION.subarray(2).equals(type.content)) organizations.push(text(value))
      if (UID.subarray(2).equals(type.content)) uids.push(text(value))
    }
  }
  return { commonName, organizations, ...(uids.length === 0 ? {} : { uids }) }
}

/**
 * Returns the bytes of a certificate's subject. Certificates that it signs must have the same bytes as their issuer.
 */
export const subjectDer = (certificate: X509Certificate): Buffer => sequence(subjectField(certificate).content)

function subjectField(certificate: X509Certificate): DerValue {
  const [whole] = readAll(certificate.raw)
  const [toBeSigned] = readAll(whole!.content)
  const fields = readAll(toBeSigned!.content)
  // The explicit version [0] is left out of version 1 certificates; then serial, algorithm, issuer, validity, subject.
  const first = fields[0]?.tag === 0xa0 ? 1 : 0
  return fields[first + 4]!
}

function text({ tag, content }: DerValue): string {
  if (tag === TAG.bmpString) return Buffer.from(content).swap16().toString("utf16le")
  return tag === TAG.utf8String ? content.toString("utf8") : content.toString("latin1")
}
