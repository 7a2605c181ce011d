import { X509Certificate } from "node:crypto"
import { keyPairWarnings } from "../../api/core/v1/secret/key-pair-warnings.ts"
import type { Secret } from "../../api/core/v1/secret/secret.ts"
import { humanDuration } from "../../apimachinery/scalars/time.ts"
import { finding, type Finding } from "../answer.ts"
import { doctor, healthy, unwell } from "../doctor.ts"
import { SECRETS } from "../reading/kinds.ts"

/** A certificate that ends sooner is worth a note, in milliseconds. */
const SOON_MS = 7 * 24 * 3600_000

/** Returns what is wrong with the certificate of a Secret, and with it for some hosts. */
export function certificateFinding(secret: Secret, now: number, hosts: readonly string[] = []): Finding | undefined {
  const { name = "", namespace = "" } = secret.metadata
  const data = secret.data?.["tls.crt"]
  const what = `Secret ${namespace}/${name}`
  if (data === undefined) return finding("certificate-missing", `${what} has no certificate (tls.crt)`)
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(Buffer.from(data, "base64"))
  } catch {
    return finding("certificate-invalid", `the certificate of ${what} cannot be read`)
  }
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  const evidence = [
    `subject ${certificate.subject.replaceAll("\n", ", ")}, valid ${certificate.validFrom} to ${certificate.validTo}`,
  ]
  if (now > to)
    return finding(
      "certificate-expired",
      `the certificate of ${what} expired ${humanDuration(now - to)} ago, at ${certificate.validTo}`,
      { evidence },
    )
  if (now < from)
    return finding(
      "certificate-not-yet-valid",
      `the certificate of ${what} is valid only from ${certificate.validFrom} on`,
      { evidence },
    )
  if (keyPairWarnings(secret.data).some((warning) => warning.includes("does not match")))
    return finding("certificate-key", `the key of ${what} (tls.key) is not that of its certificate (tls.crt)`, {
      evidence,
      hints: ["put the key into the Secret with which the certificate was requested"],
    })
  const wrong = hosts.find((host) => certificate.checkHost(host.replace(/^\*\./, "x.")) === undefined)
  if (wrong !== undefined)
    return finding(
      "certificate-host",
      `the certificate of ${what} is not for ${wrong}, but for ${(certificate.subjectAltName ?? certificate.subject).replaceAll("DNS:", "")}`,
      { evidence },
    )
  return to - now < SOON_MS
    ? finding("certificate-ends-soon", `the certificate of ${what} expires in ${humanDuration(to - now)}`, {
        evidence,
        weight: "note",
      })
    : undefined
}

export const secretDoctor = doctor(SECRETS, (secret, { reader }) => {
  if (secret.type !== "kubernetes.io/tls") return Promise.resolve(healthy("exists"))
  const bad = certificateFinding(secret, reader.now)
  if (bad === undefined) return Promise.resolve(healthy("has a valid certificate"))
  return Promise.resolve(
    bad.weight === "note" ? healthy("has a valid certificate", [bad]) : unwell("has no valid certificate", [bad]),
  )
})
