import { X509Certificate } from "node:crypto"
import { createSecureContext, type SecureContext } from "node:tls"
import type { Secret } from "../../pkg/api/core/v1/secret.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import { belongTogether, createCa, issueCertificate, type CertificatePair } from "../../pkg/pki/certificate.ts"

const YEAR_MS = 365 * 24 * 3_600_000

/** The certificate of a Secret. */
export class Certificate {
  readonly pair: CertificatePair
  #context: SecureContext | undefined

  constructor(pair: CertificatePair) {
    this.pair = pair
  }

  /** What TLS makes of it, at the first handshake that asks for it. */
  get context(): SecureContext {
    return (this.#context ??= createSecureContext({ cert: this.pair.certPem, key: this.pair.keyPem }))
  }
}

/** The certificates of Secrets, and one that nobody has signed. */
export class Certificates {
  readonly #clock: Clock
  /** Why TLS cannot use a Secret, or its certificate: worked out once for each version of it. */
  readonly #known = new WeakMap<Secret, Certificate | string>()
  #unsigned: Certificate | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The certificate of a Secret, or why there is none, to be said after its name. */
  of(secret: Secret): Certificate | string {
    let known = this.#known.get(secret)
    if (known === undefined) this.#known.set(secret, (known = faultOf(secret) ?? new Certificate(pairOf(secret))))
    return known
  }

  /** For names that have none. Made when it is first asked for. */
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

/** Returns why TLS cannot use the certificate of a Secret; undefined when it can. */
function faultOf(secret: Secret): string | undefined {
  const pair = pairOf(secret)
  try {
    new X509Certificate(pair.certPem)
  } catch {
    return "has no certificate in tls.crt"
  }
  return belongTogether(pair) ? undefined : "has no key in tls.key that belongs to its certificate"
}
