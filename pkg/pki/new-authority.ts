/**
 * Checks new authorities before they replace those of a cluster. Source: k3s pkg/server/handlers/cert.go
 * validateBootstrap, whose words these are.
 */
import { X509Certificate } from "node:crypto"
import { belongTogether, canSign, type CertificatePair } from "./certificate.ts"
import { splitPem, verifyCertificate } from "./verify.ts"

export interface AuthorityProblems {
  /** Reasons why the authority would not work at all. */
  readonly unusable: readonly string[]
  /** Reasons why clients that trust the old authority would not trust the new one. */
  readonly untrusted: readonly string[]
}

/**
 * Returns what is wrong with a bundle that is to replace `old`: it holds the certificate of the new authority first,
 * then those between it and a root. `now` is in milliseconds since the epoch.
 */
export function authorityProblems(name: string, old: string, next: CertificatePair, now: number): AuthorityProblems {
  const certificates = splitPem(next.certPem)
  const [first] = certificates
  if (first === undefined || !isReadable(first))
    return { unusable: [`${name}: the file holds no certificate in PEM`], untrusted: [] }
  const { ca, publicKey, validFrom, validTo } = new X509Certificate(first)
  const unusable = [
    ...(belongTogether({ ...next, certPem: first })
      ? []
      : [`${name}: new CA cert and key cannot be loaded as X509KeyPair`]),
    ...(certificates.every(isReadable) ? [] : [`${name}: a certificate behind the first cannot be read`]),
    ...(canSign(publicKey) ? [] : [`${name}: its key is none of ECDSA, RSA or Ed25519, so it cannot sign here`]),
    ...(ca ? [] : [`${name}: the first certificate is not that of an authority`]),
    ...(now < Date.parse(validFrom) || now > Date.parse(validTo)
      ? [`${name}: the first certificate is valid from ${validFrom} until ${validTo} only`]
      : []),
  ]
  return { unusable, untrusted: unusable.length > 0 ? [] : trustProblems(name, old, certificates, now) }
}

function trustProblems(name: string, old: string, [first = "", ...others]: readonly string[], now: number): string[] {
  if (others.length === 0)
    return [
      `${name}: new CA bundle contains only a single certificate but should include root or intermediate CA certificates`,
    ]
  const roots = splitPem(old).filter(isSelfIssued)
  const intermediates = [...splitPem(old).filter((pem) => !isSelfIssued(pem)), ...others]
  const verified = verifyCertificate(first, roots.join("\n"), { now, intermediates })
  return verified.ok ? [] : [`${name}: new CA cert cannot be verified using old CA chain: ${verified.reason}`]
}

function isReadable(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== ""
  } catch {
    return false
  }
}

/** Returns whether a certificate is a root: its issuer is its own subject. */
export function isSelfIssued(pem: string): boolean {
  const { subject, issuer } = new X509Certificate(pem)
  return subject === issuer
}
