/** Asking whether a certificate holds: signed by one of the authorities, within its time. TLS does this for connections; this is for
 *  certificates from files (what to renew, what to refuse at start) and from the request-header proxy. */
import { X509Certificate } from "node:crypto"
import type { Subject } from "./subject.ts"
import { subjectOf } from "./subject.ts"

export type VerifyResult =
  | { readonly ok: true; readonly subject: Subject }
  | { readonly ok: false; readonly reason: "unreadable" | "not yet valid" | "expired" | "unknown authority" }

/** Whether `certPem` is signed by one of the certificates in `caPem` (a bundle) and valid at `now` (ms since the epoch). */
export function verifyCertificate(certPem: string, caPem: string, now: number): VerifyResult {
  try {
    const certificate = new X509Certificate(certPem)
    if (now < Date.parse(certificate.validFrom)) return { ok: false, reason: "not yet valid" }
    if (now > Date.parse(certificate.validTo)) return { ok: false, reason: "expired" }
    const signed = splitPem(caPem).some((pem) => {
      const authority = new X509Certificate(pem)
      return authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
    })
    return signed ? { ok: true, subject: subjectOf(certPem) } : { ok: false, reason: "unknown authority" }
  } catch {
    return { ok: false, reason: "unreadable" }
  }
}

/** Whether less than a third of the certificate's life is left at `now` (ms since the epoch), or it is over. */
export function needsRenewal(certPem: string, now: number): boolean {
  const { validFrom, validTo } = new X509Certificate(certPem)
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)]
  return to - now < (to - from) / 3
}

/** When `needsRenewal` will first be true, in ms since the epoch. */
export function renewalTime(certPem: string): number {
  const { validFrom, validTo } = new X509Certificate(certPem)
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)]
  return to - Math.floor((to - from) / 3) + 1
}

/** The certificates of a PEM bundle, one string each. */
function splitPem(bundle: string): string[] {
  return bundle.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []
}
