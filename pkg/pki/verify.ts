/**
 * Verifies certificates: signed by one of the authorities, and in their validity period. TLS does this for connections;
 * this is for certificates in files (to renew or to refuse at the start) and from the request-header proxy.
 */
import { X509Certificate } from "node:crypto"
import type { Subject } from "./der/subject.ts"
import { subjectOf } from "./der/subject.ts"

export type VerifyResult =
  | {
      readonly ok: true
      readonly subject: Subject
      /**
       * The time in which every certificate of the chain is valid: milliseconds since the epoch, both ends included.
       */
      readonly from: number
      readonly until: number
    }
  | { readonly ok: false; readonly reason: "unreadable" | "not yet valid" | "expired" | "unknown authority" }

export interface VerifyOptions {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Further certificates, as DER or PEM, that may be between the certificate and an authority, in any order. */
  readonly intermediates?: readonly (Buffer | string)[]
}

/**
 * Returns whether a certificate (DER or PEM) has a chain to one of the authorities in `caPem`, a bundle, and every
 * certificate of the chain is valid at `now`. Source: Go crypto/x509 Certificate.Verify.
 */
export function verifyCertificate(
  certificate: Buffer | string,
  caPem: string,
  { now, intermediates = [] }: VerifyOptions,
): VerifyResult {
  try {
    const leaf = new X509Certificate(certificate)
    const own = lifeOf(leaf)
    if (now < own.from) return { ok: false, reason: "not yet valid" }
    if (now > own.until) return { ok: false, reason: "expired" }
    const isAlive = (authority: X509Certificate) => authority.ca && contains(lifeOf(authority), now)
    const roots = splitPem(caPem).map((pem) => new X509Certificate(pem))
    const between = intermediates.map((one) => new X509Certificate(one))
    const life = lifeOfChain(leaf, roots.filter(isAlive), new Set(between.filter(isAlive)))
    return life === undefined
      ? { ok: false, reason: "unknown authority" }
      : { ok: true, subject: subjectOf(certificate), ...life }
  } catch {
    return { ok: false, reason: "unreadable" }
  }
}

interface Life {
  readonly from: number
  readonly until: number
}

const lifeOf = ({ validFrom, validTo }: X509Certificate): Life => ({
  from: Date.parse(validFrom),
  until: Date.parse(validTo),
})
const contains = ({ from, until }: Life, now: number): boolean => from <= now && now <= until

/**
 * Returns the time in which a chain from `certificate` to a root is valid; undefined when there is no chain. Removes
 * what it has tried from `between`: an authority without a chain has none for other certificates either, and
 * certificates that sign each other in circles are tried once each.
 */
function lifeOfChain(
  certificate: X509Certificate,
  roots: readonly X509Certificate[],
  between: Set<X509Certificate>,
): Life | undefined {
  const root = roots.find((one) => hasSigned(one, certificate))
  let above = root && lifeOf(root)
  for (const authority of between) {
    if (above !== undefined) break
    if (!hasSigned(authority, certificate)) continue
    between.delete(authority)
    above = lifeOfChain(authority, roots, between)
  }
  const { from, until } = lifeOf(certificate)
  return above && { from: Math.max(from, above.from), until: Math.min(until, above.until) }
}

const hasSigned = (authority: X509Certificate, certificate: X509Certificate): boolean =>
  certificate.checkIssued(authority) && certificate.verify(authority.publicKey)

/**
 * Returns whether less than a third of the certificate's life is left at `now` (milliseconds since the epoch), or none.
 */
export function needsRenewal(certPem: string, now: number): boolean {
  const { validFrom, validTo } = new X509Certificate(certPem)
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)]
  return to - now < (to - from) / 3
}

/** Returns when `needsRenewal` will first be true, in milliseconds since the epoch. */
export function renewalTime(certPem: string): number {
  const { validFrom, validTo } = new X509Certificate(certPem)
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)]
  return to - Math.floor((to - from) / 3) + 1
}

/** Returns the certificates of a PEM bundle, each as a string. */
export function splitPem(bundle: string): string[] {
  return bundle.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []
}
