import { createPrivateKey, X509Certificate } from "node:crypto"
import {
  authorityKeyExtension,
  encodeCertificate,
  extension,
  EXTENSION,
  type CertificatePair,
  type Validity,
} from "../certificate.ts"
import type { CertificateRequest } from "./certificate-request.ts"
import { bitString, implicit, oid, sequence, set, utf8String } from "../der/der.ts"
import { subjectDer } from "../der/subject.ts"

/** The usages of the certificates API with their bits in keyUsage (RFC 5280 4.2.1.3), counted from the left. */
const KEY_USAGE_BITS: Readonly<Record<string, number>> = {
  signing: 0,
  "digital signature": 0,
  "content commitment": 1,
  "key encipherment": 2,
  "data encipherment": 3,
  "key agreement": 4,
  "cert sign": 5,
  "crl sign": 6,
  "encipher only": 7,
  "decipher only": 8,
}
/** The usages of the certificates API in extendedKeyUsage, in the order in which certificates have them. */
const EXTENDED_USAGES: Readonly<Record<string, string>> = {
  any: "2.5.29.37.0",
  "server auth": "1.3.6.1.5.5.7.3.1",
  "client auth": "1.3.6.1.5.5.7.3.2",
  "code signing": "1.3.6.1.5.5.7.3.3",
  "email protection": "1.3.6.1.5.5.7.3.4",
  "s/mime": "1.3.6.1.5.5.7.3.4",
  "ipsec end system": "1.3.6.1.5.5.7.3.5",
  "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
  "ipsec user": "1.3.6.1.5.5.7.3.7",
  timestamping: "1.3.6.1.5.5.7.3.8",
  "ocsp signing": "1.3.6.1.5.5.7.3.9",
  "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
  "netscape sgc": "2.16.840.1.113730.4.1",
}

/** Every usage that a request may name. */
export const KEY_USAGES: readonly string[] = [...Object.keys(KEY_USAGE_BITS), ...Object.keys(EXTENDED_USAGES)].sort()

/**
 * The parts of a subject that a certificate copies from the request, in their order. Source: Go crypto/x509/pkix
 * ToRDNSequence.
 */
const SUBJECT_PARTS = ["2.5.4.6", "2.5.4.10", "2.5.4.11", "2.5.4.7", "2.5.4.8", "2.5.4.9", "2.5.4.17"]
const SINGLE_PARTS = ["2.5.4.3", "2.5.4.5"]

/**
 * Certifies the key of a request for `usages`, as PEM. Of the request only the subject and the alternative names are
 * used. The certificate is never an authority, whatever its usages, and never ends after `ca`. Source:
 * pkg/controller/certificates/authority/policies.go PermissiveSigningPolicy.
 */
export function signRequest(
  ca: CertificatePair,
  request: CertificateRequest,
  { usages, validity }: { readonly usages: readonly string[]; readonly validity: Validity },
): string {
  const authority = new X509Certificate(ca.certPem)
  const authorityEnd = new Date(authority.validTo)
  const subject = subjectOf(request)
  const keyUsage = keyUsageOf(usages)
  const extended = [
    ...new Set(Object.keys(EXTENDED_USAGES).flatMap((u) => (usages.includes(u) ? EXTENDED_USAGES[u]! : []))),
  ]
  const names = [
    ...request.dnsNames.map((name) => implicit(2, Buffer.from(name, "latin1"))),
    ...request.emailAddresses.map((name) => implicit(1, Buffer.from(name, "latin1"))),
    ...request.ipAddresses.map((address) => implicit(7, address)),
    ...request.uris.map((uri) => implicit(6, Buffer.from(uri, "latin1"))),
  ]
  return encodeCertificate({
    subject,
    issuer: subjectDer(authority),
    spki: request.publicKey,
    validity: {
      notBefore: validity.notBefore,
      notAfter: validity.notAfter < authorityEnd ? validity.notAfter : authorityEnd,
    },
    extensions: [
      ...(keyUsage === undefined ? [] : [extension(EXTENSION.keyUsage, keyUsage, true)]),
      ...(extended.length === 0 ? [] : [extension(EXTENSION.extendedKeyUsage, sequence(...extended.map(oid)))]),
      extension(EXTENSION.basicConstraints, sequence(), true),
      ...authorityKeyExtension(authority),
      ...(names.length === 0
        ? []
        : [extension(EXTENSION.subjectAltName, sequence(...names), request.subject.length === 0)]),
    ],
    signer: createPrivateKey(ca.keyPem),
  })
}

function keyUsageOf(usages: readonly string[]): Buffer | undefined {
  const bits = usages.flatMap((usage) => KEY_USAGE_BITS[usage] ?? [])
  if (bits.length === 0) return undefined
  const bytes = [0, 0]
  for (const bit of bits) bytes[bit >> 3]! |= 0x80 >> (bit & 7)
  const used = bytes[1] === 0 ? [bytes[0]!] : bytes
  let unused = 0
  while (((used.at(-1)! >> unused) & 1) === 0) unused++
  return bitString(Buffer.from(used), unused)
}

function subjectOf({ subject }: CertificateRequest): Buffer {
  const attribute = (type: string, value: string) => sequence(oid(type), utf8String(value))
  const several = SUBJECT_PARTS.map((part) => subject.filter(({ type }) => type === part))
  const single = SINGLE_PARTS.map((part) => subject.filter(({ type }) => type === part).slice(-1))
  return sequence(
    ...[...several, ...single]
      .filter((values) => values.length > 0)
      .map((values) => set(...values.map(({ type, value }) => attribute(type, value)).sort(Buffer.compare))),
  )
}
