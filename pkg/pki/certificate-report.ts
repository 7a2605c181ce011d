import { X509Certificate } from "node:crypto"
import { subjectOf } from "./der/subject.ts"
import { splitPem } from "./verify.ts"

export type CertificateStatus = "OK" | "WARNING" | "EXPIRED" | "NOT YET VALID"

export interface CertificateReport {
  /** The subject's common name. */
  readonly subject: string
  readonly issuer: string
  /** Usages out of ServerAuth, ClientAuth and CertSign. */
  readonly usages: readonly string[]
  /** When the certificate ends; when it begins if it is not valid yet. In milliseconds since the epoch. */
  readonly expires: number
  /** Milliseconds until the certificate ends; negative when it has ended. */
  readonly residualMs: number
  readonly status: CertificateStatus
}

/** Certificates that end within this many days are renewed at the next start, as by k3s. */
export const WARN_DAYS = 120
const DAY = 24 * 3600 * 1000

const USAGES: ReadonlyMap<string, string> = new Map([
  ["1.3.6.1.5.5.7.3.2", "ClientAuth"],
  ["1.3.6.1.5.5.7.3.1", "ServerAuth"],
])

/**
 * Describes each certificate of a bundle. Source: k3s pkg/cli/cert/cert.go. `now` is in milliseconds since the epoch.
 * @throws Error when the bundle contains no certificate
 */
export function certificateReports(bundle: string, now: number): readonly CertificateReport[] {
  return splitPem(bundle).map((pem) => {
    const certificate = new X509Certificate(pem)
    const [from, until] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
    const usages = (certificate.keyUsage ?? []).flatMap((oid) => USAGES.get(oid) ?? [])
    return {
      subject: subjectOf(pem).commonName,
      issuer: /^CN=(.*)$/m.exec(certificate.issuer)?.[1] ?? "",
      usages: [...usages, ...(certificate.ca ? ["CertSign"] : [])],
      expires: now < from ? from : until,
      residualMs: until - now,
      status: now < from ? "NOT YET VALID" : now > until ? "EXPIRED" : until - now < WARN_DAYS * DAY ? "WARNING" : "OK",
    }
  })
}
