import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto"
import { pemBlocks, pemOf, type PemBlock } from "../../pki/der/pem.ts"
import type { TlsOptions } from "../environment/connect.ts"
import type { RestConfig } from "./rest-config.ts"

/**
 * Checks what is checked before any connection is tried. Source: client-go transport/transport.go (TLSConfigFor).
 * @throws Error in Go's words for certificates and keys that are none
 */
export function checkTls({ tls, hasCertFiles = false }: Pick<RestConfig, "tls" | "hasCertFiles">): void {
  const { ca, insecureSkipVerify = false } = tls
  if (insecureSkipVerify && ca !== undefined && ca !== "")
    throw new Error("specifying a root certificates file with the insecure flag is not allowed")
  if (ca !== undefined && ca !== "") checkAuthorities(ca)
  if (!hasCertFiles) checkPair(tls)
}

/** Source: client-go transport/transport.go (rootCertPool, createErrorParsingCAData). */
function checkAuthorities(ca: string): void {
  const blocks = pemBlocks(ca)
  const certificates = blocks.filter(({ label }) => label === "CERTIFICATE")
  if (certificates.some(isCertificate)) return
  const why =
    certificates.length > 0
      ? "failed to parse certificate: x509: malformed certificate"
      : blocks.length > 0
        ? "no valid certificate authority data seen"
        : "unable to parse bytes as PEM block"
  throw new Error(`unable to load root certificates: ${why}`)
}

function isCertificate({ bytes }: PemBlock): boolean {
  try {
    new X509Certificate(bytes)
    return true
  } catch {
    return false
  }
}

/**
 * Checks the certificate of a client, if there is one. Source: Go crypto/tls (X509KeyPair).
 * @throws Error in Go's words for one that is none, or whose key is another
 */
export function checkPair({ cert, key }: TlsOptions): void {
  if (cert === undefined || key === undefined) return
  const [certs, keys] = [pemBlocks(cert), pemBlocks(key)]
  const isKey = ({ label }: PemBlock) => label === "PRIVATE KEY" || label.endsWith(" PRIVATE KEY")
  if (certs.length === 0) throw new Error("tls: failed to find any PEM data in certificate input")
  if (!certs.some(({ label }) => label === "CERTIFICATE"))
    throw new Error(
      certs.length === 1 && isKey(certs[0]!)
        ? "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched"
        : `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${certs.map(({ label }) => label).join(" ")}]`,
    )
  if (keys.length === 0) throw new Error("tls: failed to find any PEM data in key input")
  if (!keys.some(isKey))
    throw new Error(
      keys.length === 1 && keys[0]!.label === "CERTIFICATE"
        ? "tls: found a certificate rather than a key in the PEM for the private key"
        : `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${keys.map(({ label }) => label).join(" ")}]`,
    )
  checkMatch(certs.find(({ label }) => label === "CERTIFICATE")!.bytes, keys.find(isKey)!)
}

function checkMatch(cert: Uint8Array, key: PemBlock): void {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(cert)
  } catch (err) {
    throw new Error("x509: malformed certificate", { cause: err })
  }
  let privateKey: KeyObject
  try {
    privateKey = createPrivateKey(pemOf(key.label, key.bytes))
  } catch (err) {
    throw new Error("tls: failed to parse private key", { cause: err })
  }
  if (!certificate.checkPrivateKey(privateKey)) throw new Error("tls: private key does not match public key")
}
