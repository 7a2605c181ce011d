import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto"
import type { TlsOptions } from "../environment/connect.ts"

interface Block {
  readonly type: string
  readonly text: string
}

const blocksOf = (pem: string): readonly Block[] =>
  [...pem.matchAll(/-----BEGIN ([^-\n]+)-----[^]*?-----END \1-----/g)].map(([text, type]) => ({ type: type!, text }))

/** @throws Error in Go's words for certificates and keys that are none, before any connection is tried */
export function checkTls({ ca, cert, key, insecureSkipVerify = false }: TlsOptions): void {
  if (insecureSkipVerify && ca !== undefined && ca !== "")
    throw new Error("specifying a root certificates file with the insecure flag is not allowed")
  if (ca !== undefined && ca !== "") checkAuthorities(ca)
  if (cert !== undefined && key !== undefined) checkPair(cert, key)
}

/** Source: client-go transport/transport.go (rootCertPool, createErrorParsingCAData). */
function checkAuthorities(ca: string): void {
  const blocks = blocksOf(ca)
  const certificates = blocks.filter(({ type }) => type === "CERTIFICATE")
  if (certificates.some(isCertificate)) return
  const why =
    certificates.length > 0
      ? "failed to parse certificate: x509: malformed certificate"
      : blocks.length > 0
        ? "no valid certificate authority data seen"
        : "unable to parse bytes as PEM block"
  throw new Error(`unable to load root certificates: ${why}`)
}

function isCertificate({ text }: Block): boolean {
  try {
    new X509Certificate(text)
    return true
  } catch {
    return false
  }
}

/** Source: Go crypto/tls (X509KeyPair). */
function checkPair(cert: string, key: string): void {
  const [certs, keys] = [blocksOf(cert), blocksOf(key)]
  const isKey = ({ type }: Block) => type === "PRIVATE KEY" || type.endsWith(" PRIVATE KEY")
  if (certs.length === 0) throw new Error("tls: failed to find any PEM data in certificate input")
  if (!certs.some(({ type }) => type === "CERTIFICATE"))
    throw new Error(
      certs.length === 1 && isKey(certs[0]!)
        ? "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched"
        : `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${certs.map(({ type }) => type).join(" ")}]`,
    )
  if (keys.length === 0) throw new Error("tls: failed to find any PEM data in key input")
  if (!keys.some(isKey))
    throw new Error(
      keys.length === 1 && keys[0]!.type === "CERTIFICATE"
        ? "tls: found a certificate rather than a key in the PEM for the private key"
        : `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${keys.map(({ type }) => type).join(" ")}]`,
    )
  checkMatch(certs.find(({ type }) => type === "CERTIFICATE")!.text, keys.find(isKey)!.text)
}

function checkMatch(cert: string, key: string): void {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(cert)
  } catch (err) {
    throw new Error("x509: malformed certificate", { cause: err })
  }
  let privateKey: KeyObject
  try {
    privateKey = createPrivateKey(key)
  } catch (err) {
    throw new Error("tls: failed to parse private key", { cause: err })
  }
  if (!certificate.checkPrivateKey(privateKey)) throw new Error("tls: private key does not match public key")
}
