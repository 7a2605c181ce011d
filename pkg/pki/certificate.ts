/**
 * Makes X.509 certificates: P-256 keys, ECDSA with SHA-256 (Ed25519 where everything must be repeatable), and the
 * extensions of Kubernetes' own certificates. Sources: RFC 5280; client-go util/cert (NewSelfSignedCACert), k3s
 * pkg/daemons/control/deps (which certificates there are).
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  X509Certificate,
} from "node:crypto"
import type { Random } from "../clock/random.ts"
import { addressBytes } from "./der/address.ts"
import {
  bitString,
  boolean,
  explicit,
  implicit,
  integer,
  NULL,
  octetString,
  oid,
  sequence,
  set,
  time,
  utf8String,
} from "./der/der.ts"
import { pemOf } from "./der/pem.ts"
import { subjectKeyOf } from "./der/subject-key.ts"
import { type Subject, subjectDer, USER_UID } from "./der/subject.ts"

/** A certificate and its private key, both as PEM. The key is PKCS #8. */
export interface CertificatePair {
  readonly certPem: string
  readonly keyPem: string
}

export interface Validity {
  readonly notBefore: Date
  readonly notAfter: Date
}

export interface LeafOptions {
  readonly subject: Subject
  readonly usages: readonly ("server" | "client")[]
  readonly dnsNames?: readonly string[]
  readonly ipAddresses?: readonly string[]
  readonly uris?: readonly string[]
  readonly validity: Validity
  /** The key to certify as PEM; a new one when absent. */
  readonly keyPem?: string
}

export interface CaOptions {
  readonly commonName: string
  readonly validity: Validity
  /** The key to certify as PEM; a new one when absent. */
  readonly keyPem?: string
  /** The authority that signs this one, which then is an intermediate. Without it the authority is self-signed. */
  readonly issuer?: CertificatePair
}

/** Object identifiers of extensions (RFC 5280 4.2.1). */
export const EXTENSION = {
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
} as const

const OID = {
  ed25519: "1.3.101.112",
  commonName: "2.5.4.3",
  uid: USER_UID,
  organization: "2.5.4.10",
  server: "1.3.6.1.5.5.7.3.1",
  client: "1.3.6.1.5.5.7.3.2",
} as const

/** The signature algorithm of each type of key. Ed25519 has its own digest. */
const SIGNATURES: ReadonlyMap<string | undefined, { readonly algorithm: Buffer; readonly digest: "sha256" | null }> =
  new Map([
    ["ec", { algorithm: sequence(oid("1.2.840.10045.4.3.2")), digest: "sha256" }],
    // RFC 4055, 5: the parameters must be NULL.
    ["rsa", { algorithm: sequence(oid("1.2.840.113549.1.1.11"), NULL), digest: "sha256" }],
    ["ed25519", { algorithm: sequence(oid(OID.ed25519)), digest: null }],
  ])

/** Returns whether a key can sign certificates: ECDSA, RSA or Ed25519. */
export const canSign = (key: KeyObject): boolean => SIGNATURES.has(key.asymmetricKeyType)

/** Returns a new P-256 private key as PKCS #8 PEM. Takes microseconds. */
export function newPrivateKey(): string {
  return generateKeyPairSync("ec", { namedCurve: "P-256" })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString()
}

/**
 * Returns an Ed25519 private key that depends only on `random`, as PKCS #8 PEM. Its signatures are repeatable to the
 * byte, while those of ECDSA contain random numbers: for clusters on virtual time, whose history contains the
 * authority's certificate. Not for TLS, where few clients support Ed25519.
 */
export function seededPrivateKey(random: Random): string {
  // PKCS #8 (RFC 8410, 7): version, algorithm, and the 32 bytes of the seed in an octet string in an octet string.
  const der = sequence(
    integer(Buffer.from([0])),
    sequence(oid(OID.ed25519)),
    octetString(octetString(random.bytes(32))),
  )
  return pemOf("PRIVATE KEY", der)
}

/** Makes an authority: a root, or an intermediate when `issuer` is given. */
export function createCa({ commonName, validity, keyPem = newPrivateKey(), issuer }: CaOptions): CertificatePair {
  const subject = { commonName, organizations: [] }
  const key = createPrivateKey(keyPem)
  const spki = publicKeyDer(key)
  const extensions = [
    // Bits 0, 2 and 5: digitalSignature, keyEncipherment, keyCertSign.
    extension(EXTENSION.keyUsage, bitString(Buffer.from([0b10100100]), 2), true),
    extension(EXTENSION.basicConstraints, sequence(boolean(true)), true),
    extension(EXTENSION.subjectKeyId, octetString(keyIdentifier(spki))),
  ]
  const by =
    issuer === undefined
      ? { issuer: name(subject), signer: key }
      : { issuer: subjectDer(new X509Certificate(issuer.certPem)), signer: createPrivateKey(issuer.keyPem) }
  return { certPem: encodeCertificate({ subject: name(subject), spki, validity, extensions, ...by }), keyPem }
}

/**
 * Makes a certificate for a server, a client or both, signed by `ca`. It never ends after the authority.
 * @throws TypeError when an entry of `ipAddresses` is not an IP address
 */
export function issueCertificate(ca: CertificatePair, options: LeafOptions): CertificatePair {
  const { keyPem = newPrivateKey() } = options
  return { certPem: certifyKey(ca, publicKeyDer(createPrivateKey(keyPem)), options), keyPem }
}

/**
 * Makes such a certificate for a public key (SubjectPublicKeyInfo as DER) whose private key is elsewhere. Returns PEM.
 */
export function certifyKey(
  ca: CertificatePair,
  spki: Buffer,
  { subject, usages, dnsNames = [], ipAddresses = [], uris = [], validity }: Omit<LeafOptions, "keyPem">,
): string {
  const authority = new X509Certificate(ca.certPem)
  const authorityEnd = new Date(authority.validTo)
  const notAfter = validity.notAfter < authorityEnd ? validity.notAfter : authorityEnd
  const extensions = [
    // Bits 0 and 2: digitalSignature, keyEncipherment.
    extension(EXTENSION.keyUsage, bitString(Buffer.from([0b10100000]), 5), true),
    extension(EXTENSION.extendedKeyUsage, sequence(...usages.map((usage) => oid(OID[usage])))),
    extension(EXTENSION.basicConstraints, sequence(), true),
    ...authorityKeyExtension(authority),
  ]
  const names = [
    ...dnsNames.map((dns) => implicit(2, Buffer.from(dns, "ascii"))),
    ...ipAddresses.map((ip) => implicit(7, addressBytes(ip))),
    ...uris.map((uri) => implicit(6, Buffer.from(uri, "ascii"))),
  ]
  if (names.length > 0) extensions.push(extension(EXTENSION.subjectAltName, sequence(...names)))
  return encodeCertificate({
    subject: name(subject),
    issuer: subjectDer(authority),
    spki,
    validity: { notBefore: validity.notBefore, notAfter },
    extensions,
    signer: createPrivateKey(ca.keyPem),
  })
}

/** Returns whether `keyPem` is the private key of `certPem`; false when either cannot be read. */
export function belongTogether({ certPem, keyPem }: CertificatePair): boolean {
  try {
    return new X509Certificate(certPem).checkPrivateKey(createPrivateKey(keyPem))
  } catch {
    return false
  }
}

/**
 * Returns the extension that identifies the authority's signing key; none when its certificate does not identify its
 * key.
 */
export function authorityKeyExtension(authority: X509Certificate): readonly Buffer[] {
  const key = subjectKeyOf(authority)
  return key === undefined ? [] : [extension(EXTENSION.authorityKeyId, sequence(implicit(0, key)))]
}

/** The parts of a certificate that are signed, as DER. */
interface ToBeSigned {
  readonly subject: Buffer
  readonly issuer: Buffer
  readonly spki: Buffer
  readonly validity: Validity
  readonly extensions: readonly Buffer[]
  readonly signer: KeyObject
}

/**
 * Returns a certificate of version 3 as PEM, signed with the authority's key.
 * @throws TypeError for a key that cannot sign
 */
export function encodeCertificate({ subject, issuer, spki, validity, extensions, signer }: ToBeSigned): string {
  const signature = SIGNATURES.get(signer.asymmetricKeyType)
  if (signature === undefined)
    throw new TypeError(
      `Cannot sign certificates with this key: expected ECDSA, RSA or Ed25519, current type is ` +
        `${signer.asymmetricKeyType}`,
    )
  const { algorithm, digest } = signature
  const life = sequence(time(validity.notBefore), time(validity.notAfter))
  // The serial number is a digest of the certificate's content: as unique as a random number, without needing one. 16
  // bytes with the top bit clear, so that it is positive.
  const serial = createHash("sha256")
    .update(spki)
    .update(subject)
    .update(life)
    .update(Buffer.concat(extensions))
    .digest()
    .subarray(0, 16)
  serial[0] = (serial[0]! & 0x7f) | 0x40
  const toBeSigned = sequence(
    explicit(0, integer(Buffer.from([2]))), // version 3
    integer(serial),
    algorithm,
    issuer,
    life,
    subject,
    spki,
    explicit(3, sequence(...extensions)),
  )
  return pemOf("CERTIFICATE", sequence(toBeSigned, algorithm, bitString(sign(digest, toBeSigned, signer))))
}

/** `O` comes before `CN`, as Go writes them. */
function name({ commonName, organizations, uids = [] }: Subject): Buffer {
  const attribute = (type: string, value: string) => sequence(oid(type), utf8String(value))
  const parts =
    organizations.length > 0 ? [set(...sorted(organizations.map((o) => attribute(OID.organization, o))))] : []
  const ids = uids.map((uid) => set(attribute(OID.uid, uid)))
  return sequence(...parts, set(attribute(OID.commonName, commonName)), ...ids)
}

/** DER demands the members of a SET OF in the order of their bytes. */
const sorted = (members: Buffer[]): Buffer[] => members.sort(Buffer.compare)

/** Returns an extension. Its value is DER. */
export const extension = (id: string, value: Buffer, critical = false): Buffer =>
  critical ? sequence(oid(id), boolean(true), octetString(value)) : sequence(oid(id), octetString(value))

const publicKeyDer = (key: KeyObject): Buffer =>
  (key.type === "private" ? createPublicKey(key) : key).export({ type: "spki", format: "der" })

/** RFC 5280 4.2.1.2 (1), but of the whole SubjectPublicKeyInfo: any digest of the key is allowed. */
const keyIdentifier = (spki: Buffer): Buffer => createHash("sha1").update(spki).digest()
