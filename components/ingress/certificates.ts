import { X509Certificate } from "node:crypto"
import { createSecureContext, type SecureContext } from "node:tls"
import type { Secret } from "../../pkg/api/core/v1/secret.ts"
import type { Ingress } from "../../pkg/api/networking/v1/ingress.ts"
import type { Informer } from "../../pkg/client/informer.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import { belongTogether, createCa, issueCertificate, type CertificatePair } from "../../pkg/pki/certificate.ts"
import { byAge, type Compiled, type Problem } from "./routing/compile.ts"

const YEAR_MS = 365 * 24 * 3_600_000

/** A certificate of a Secret, and what TLS makes of it at the first handshake that asks for it. */
interface Served {
  readonly pair: CertificatePair
  context: SecureContext | undefined
}

/**
 * The certificates by the name that a client asks for (SNI). Changed ones hold from the next handshake on. A host whose
 * Secret cannot be used, and every other name, gets a certificate that nobody has signed.
 */
export class Certificates {
  readonly #clock: Clock
  #byHost: ReadonlyMap<string, Served> = new Map()
  /** By Secret and its version, so that what has not changed keeps its context. */
  #bySecret: ReadonlyMap<string, Served> = new Map()
  #default: CertificatePair | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes the certificates of all Ingresses; gives what is wrong with them. */
  update(ingresses: readonly Ingress[], owners: Compiled["owners"], secrets: Informer<Secret>): readonly Problem[] {
    const problems: Problem[] = []
    const byHost = new Map<string, Served>()
    const bySecret = new Map<string, Served>()
    const claimed = new Map(owners)
    for (const ingress of [...ingresses].sort(byAge)) {
      const namespace = ingress.metadata.namespace ?? ""
      const tell = (message: string) => problems.push({ ingress, reason: "InvalidTLS", message })
      for (const { hosts = [], secretName = "" } of ingress.spec.tls ?? []) {
        if (secretName === "") continue
        const secret = secrets.get(`${namespace}/${secretName}`)
        const served = secret === undefined ? undefined : this.#servedOf(secret, bySecret)
        if (served === undefined) {
          const why = secret === undefined ? "does not exist, or is not of type kubernetes.io/tls" : faultOf(secret)
          tell(`Secret ${JSON.stringify(secretName)} ${why}: its hosts get the default certificate`)
          continue
        }
        const named = hosts.length > 0 ? hosts : (ingress.spec.rules ?? []).flatMap(({ host = "" }) => host || [])
        for (const host of named) {
          const owner = claimed.get(host) ?? namespace
          claimed.set(host, owner)
          if (owner !== namespace)
            tell(`host "${host}" belongs to an older Ingress in namespace ${owner}: its certificate is not used`)
          else if (!byHost.has(host)) byHost.set(host, served)
        }
      }
    }
    this.#byHost = byHost
    this.#bySecret = bySecret
    return problems
  }

  /** For the handshake of a client that asks for `name`; undefined for the default certificate. */
  contextFor(name: string): SecureContext | undefined {
    const host = name.toLowerCase()
    const dot = host.indexOf(".")
    const served = this.#byHost.get(host) ?? (dot > 0 ? this.#byHost.get(`*${host.slice(dot)}`) : undefined)
    if (served === undefined) return undefined
    return (served.context ??= createSecureContext({ cert: served.pair.certPem, key: served.pair.keyPem }))
  }

  /** Made when it is first asked for. */
  get default(): CertificatePair {
    if (this.#default !== undefined) return this.#default
    const now = this.#clock.now()
    const validity = { notBefore: new Date(now - 3_600_000), notAfter: new Date(now + 10 * YEAR_MS) }
    const ca = createCa({ commonName: "k3ts-ingress-default-ca", validity })
    return (this.#default = issueCertificate(ca, {
      subject: { commonName: "k3ts-ingress-default", organizations: [] },
      usages: ["server"],
      dnsNames: ["ingress.k3ts.invalid"],
      validity,
    }))
  }

  #servedOf(secret: Secret, found: Map<string, Served>): Served | undefined {
    const { uid, resourceVersion } = secret.metadata
    const key = `${uid}/${resourceVersion}`
    const known = found.get(key) ?? this.#bySecret.get(key)
    if (known === undefined && faultOf(secret) !== undefined) return undefined
    const served = known ?? { pair: pairOf(secret), context: undefined }
    found.set(key, served)
    return served
  }
}

const textOf = (secret: Secret, key: string): string => Buffer.from(secret.data?.[key] ?? "", "base64").toString("utf8")
const pairOf = (secret: Secret): CertificatePair => ({
  certPem: textOf(secret, "tls.crt"),
  keyPem: textOf(secret, "tls.key"),
})

/** Why TLS cannot use the certificate of a Secret; undefined when it can. */
function faultOf(secret: Secret): string | undefined {
  const pair = pairOf(secret)
  try {
    new X509Certificate(pair.certPem)
  } catch {
    return "has no certificate in tls.crt"
  }
  return belongTogether(pair) ? undefined : "has no key in tls.key that belongs to its certificate"
}
