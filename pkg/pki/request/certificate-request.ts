import { Buffer } from "node:buffer"
import { createPublicKey, verify, type KeyObject } from "node:crypto"
import { DerError, DerReader } from "../der/der-reader.ts"
import { TAG } from "../der/der.ts"
import { pemBlocks } from "../der/pem.ts"

/** The content of a PKCS #10 request (RFC 2986) of an untrusted sender. */
export interface CertificateRequest {
  /** Attributes of the subject in their order: object identifier and text. */
  readonly subject: readonly { readonly type: string; readonly value: string }[]
  readonly commonName: string
  readonly organizations: readonly string[]
  readonly dnsNames: readonly string[]
  readonly emailAddresses: readonly string[]
  /** Addresses of four or sixteen bytes each. */
  readonly ipAddresses: readonly Buffer[]
  readonly uris: readonly string[]
  /** The SubjectPublicKeyInfo as DER. */
  readonly publicKey: Buffer
}

/** The request cannot be read, or its signature is not valid. The sender gets the message. */
export class CertificateRequestError extends Error {
  override readonly name = "CertificateRequestError"
}

/** Largest accepted request. One with a key of 8192 bits and a hundred names has 12 KB. */
const MOST_BYTES = 64 * 1024
const MOST_KEY_BITS = 8192
const OID = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  extensionRequest: "1.2.840.113549.1.9.14",
  subjectAltName: "2.5.29.17",
}
/** Digests by signature algorithm; null for Ed25519, which has its own. SHA-1 and MD5 are refused. */
const DIGESTS: Readonly<Record<string, string | null>> = {
  "1.2.840.113549.1.1.11": "sha256",
  "1.2.840.113549.1.1.12": "sha384",
  "1.2.840.113549.1.1.13": "sha512",
  "1.2.840.10045.4.3.2": "sha256",
  "1.2.840.10045.4.3.3": "sha384",
  "1.2.840.10045.4.3.4": "sha512",
  "1.3.101.112": null,
}
const KEY_TYPE_OF: Readonly<Record<string, string>> = {
  "1.2.840.113549": "rsa",
  "1.2.840.10045": "ec",
  "1.3.101": "ed25519",
}

/**
 * Reads a PEM request and checks that it is signed with the key that it contains. Time and memory are bounded: at most
 * 64 KiB, RSA keys of at most 8192 bits.
 * @throws CertificateRequestError
 */
export function readCertificateRequest(pem: string): CertificateRequest {
  const block = pem.length > 2 * MOST_BYTES ? undefined : pemBlocks(pem)[0]
  if (block?.label !== "CERTIFICATE REQUEST")
    throw new CertificateRequestError(
      pem.length > 2 * MOST_BYTES
        ? `certificate request may not be larger than ${MOST_BYTES} bytes`
        : "PEM block type must be CERTIFICATE REQUEST",
    )
  return readCertificateRequestDer(block.bytes)
}

/** Reads a request as DER, of at most 64 KiB, and checks its signature. @throws CertificateRequestError */
export function readCertificateRequestDer(der: Buffer): CertificateRequest {
  try {
    return readDer(der)
  } catch (error) {
    if (error instanceof DerError)
      throw new CertificateRequestError(`x509: malformed certificate request: ${error.message}`)
    throw error
  }
}

function readDer(bytes: Buffer): CertificateRequest {
  const outer = new DerReader(bytes)
  const whole = outer.inside()
  outer.end()
  const info = whole.take(TAG.sequence)
  const algorithm = whole.inside().oid()
  const signature = whole.wholeBits()
  whole.end()
  const fields = new DerReader(info.content)
  if (!fields.take(TAG.integer).content.equals(Buffer.from([0]))) throw new DerError("unknown version")
  const subject = readName(fields.inside())
  const publicKey = fields.take(TAG.sequence).raw
  const names = fields.isAtEnd ? NO_NAMES : readAttributes(fields.inside(0xa0))
  fields.end()
  checkSignature(info.raw, algorithm, signature, keyOf(publicKey))
  return {
    subject,
    commonName: subject.findLast(({ type }) => type === OID.commonName)?.value ?? "",
    organizations: subject.filter(({ type }) => type === OID.organization).map(({ value }) => value),
    publicKey,
    ...names,
  }
}

function keyOf(publicKey: Buffer): KeyObject {
  let key: KeyObject
  try {
    key = createPublicKey({ key: publicKey, format: "der", type: "spki" })
  } catch {
    throw new CertificateRequestError("x509: unsupported public key")
  }
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) > MOST_KEY_BITS)
    throw new CertificateRequestError(`x509: public key may not have more than ${MOST_KEY_BITS} bits`)
  return key
}

function checkSignature(signed: Buffer, algorithm: string, signature: Buffer, key: KeyObject): void {
  const digest = DIGESTS[algorithm]
  if (digest === undefined) throw new CertificateRequestError("x509: cannot verify signature: algorithm unimplemented")
  const wanted = Object.entries(KEY_TYPE_OF).find(([prefix]) => algorithm.startsWith(`${prefix}.`))?.[1]
  if (key.asymmetricKeyType !== wanted)
    throw new CertificateRequestError("x509: signature algorithm specifies another kind of public key")
  let isValid = false
  try {
    isValid = verify(digest, signed, key, signature)
  } catch {
    // A key that cannot verify a signature has not made it.
  }
  if (!isValid) throw new CertificateRequestError("x509: signature of the certificate request does not hold")
}

function readName(name: DerReader): CertificateRequest["subject"] {
  const attributes: { type: string; value: string }[] = []
  while (!name.isAtEnd) {
    const set = name.inside(TAG.set)
    if (set.isAtEnd) throw new DerError("empty relative name")
    while (!set.isAtEnd) {
      const attribute = set.inside()
      const type = attribute.oid()
      const { tag, content } = attribute.take()
      attribute.end()
      attributes.push({ type, value: textOf(tag, content) })
    }
  }
  return attributes
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const NUMERIC = 0x12
const PRINTABLE = 0x13
const T61 = 0x14
const IA5 = 0x16

function textOf(tag: number, content: Buffer): string {
  const latin = content.toString("latin1")
  switch (tag) {
    case PRINTABLE:
      if (/^[A-Za-z0-9 '()+,\-./:=?*&]*$/.test(latin)) return latin
      break
    case NUMERIC:
      if (/^[0-9 ]*$/.test(latin)) return latin
      break
    case IA5:
      if (isAscii(latin)) return latin
      break
    case T61:
      return latin
    case TAG.bmpString:
      if (content.length % 2 === 0)
        return Buffer.from(content)
          .swap16()
          .toString("utf16le")
          .replace(/\0\0?$/, "")
      break
    case TAG.utf8String:
      try {
        return utf8.decode(content)
      } catch {
        break
      }
  }
  throw new DerError("invalid text in the subject")
}

const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text)

type Names = Pick<CertificateRequest, "dnsNames" | "emailAddresses" | "ipAddresses" | "uris">
const NO_NAMES: Names = { dnsNames: [], emailAddresses: [], ipAddresses: [], uris: [] }

function readAttributes(attributes: DerReader): Names {
  let names = NO_NAMES
  let hasExtensions = false
  while (!attributes.isAtEnd) {
    const attribute = attributes.inside()
    const type = attribute.oid()
    const values = attribute.inside(TAG.set)
    attribute.end()
    if (type !== OID.extensionRequest) continue
    if (hasExtensions) throw new DerError("extensions are requested twice")
    hasExtensions = true
    names = readExtensions(values.inside())
    values.end()
  }
  return names
}

function readExtensions(extensions: DerReader): Names {
  let names = NO_NAMES
  const seen = new Set<string>()
  while (!extensions.isAtEnd) {
    const extension = extensions.inside()
    const type = extension.oid()
    if (seen.has(type)) throw new DerError("an extension is requested twice")
    seen.add(type)
    if (extension.nextTag === TAG.boolean) extension.take()
    const value = new DerReader(extension.take(TAG.octetString).content)
    extension.end()
    if (type !== OID.subjectAltName) continue
    names = readAlternativeNames(value.inside())
    value.end()
  }
  return names
}

function readAlternativeNames(list: DerReader): Names {
  const dnsNames: string[] = []
  const emailAddresses: string[] = []
  const ipAddresses: Buffer[] = []
  const uris: string[] = []
  while (!list.isAtEnd) {
    const { tag, content } = list.take()
    const text = content.toString("latin1")
    if ([0x81, 0x82, 0x86].includes(tag) && !isAscii(text)) throw new DerError("alternative name is no IA5String")
    if (tag === 0x81) emailAddresses.push(text)
    else if (tag === 0x82) dnsNames.push(text)
    else if (tag === 0x86) {
      if (!URL.canParse(text)) throw new DerError("alternative name is no URI")
      uris.push(text)
    } else if (tag === 0x87) {
      if (content.length !== 4 && content.length !== 16) throw new DerError("alternative name is no IP address")
      ipAddresses.push(content)
    }
  }
  return { dnsNames, emailAddresses, ipAddresses, uris }
}
