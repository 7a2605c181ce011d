import { X509Certificate } from "node:crypto"
import { createSecureContext, type SecureContext } from "node:tls"
import type { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import { belongTogether, createCa, issueCertificate, type CertificatePair } from "../../pkg/pki/certificate.ts"

const YEAR_MS = 365 * 24 * 3_600_000

/** The certificate of a Secret of type kubernetes.io/tls. */
export class Certificate {
  readonly pair: CertificatePair
  /** Created at once: an error in the handshake, which an event of a socket begins, would end the program. */
  readonly context: SecureContext

  /** @throws Error of OpenSSL when TLS cannot use the pair */
  constructor(pair: CertificatePair) {
    this.pair = pair
    this.context = createSecureContext({ cert: pair.certPem, key: pair.keyPem })
  }
}

/** The certificates of Secrets, and the default certificate. */
export class Certificates {
  readonly #clock: Clock
  /** The certificate of each Secret, or why TLS cannot use it. Checked once for each version of a Secret. */
  readonly #known = new WeakMap<Secret, Certificate | string>()
  #unsigned: Certificate | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns the certificate of a Secret, or an error text that continues a sentence after the name of the Secret. */
  of(secret: Secret): Certificate | string {
    let known = this.#known.get(secret)
    if (known === undefined) this.#known.set(secret, (known = read(pairOf(secret))))
    return known
  }

  /**
   * The default certificate, for server names without one. It is signed by a CA that no client trusts, and is created
   * when first needed.
   */
  get unsigned(): Certificate {
    return (this.#unsigned ??= new Certificate(this.#issue()))
  }

  #issue(): CertificatePair {
    const now = this.#clock.now()
    const validity = { notBefore: new Date(now - 3_600_000), notAfter: new Date(now + 10 * YEAR_MS) }
    const ca = createCa({ commonName: "k3ts-ingress-default-ca", validity })
    return issueCertificate(ca, {
      subject: { commonName: "k3ts-ingress-default", organizations: [] },
      usages: ["server"],
      dnsNames: ["ingress.k3ts.invalid"],
      validity,
    })
  }
}

const textOf = (secret: Secret, key: string): string => Buffer.from(secret.data?.[key] ?? "", "base64").toString("utf8")
const pairOf = (secret: Secret): CertificatePair => ({
  certPem: textOf(secret, "tls.crt"),
  keyPem: textOf(secret, "tls.key"),
})

/** Returns the certificate, or why TLS cannot use it. */
function read(pair: CertificatePair): Certificate | string {
  try {
    new X509Certificate(pair.certPem)
  } catch {
    return "has no certificate in tls.crt"
  }
  if (!belongTogether(pair)) return "has no key in tls.key that belongs to its certificate"
  try {
    return new Certificate(pair)
  } catch (err) {
    // Such as a damaged certificate behind the first one, or a curve that TLS does not have.
    return `has a tls.crt or tls.key that TLS cannot use: ${(err as Error).message}`
  }
}
