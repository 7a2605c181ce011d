import type { ServingFiles } from "../../apiserver/serving/serving.ts"
import { seededRandom, systemRandom } from "../../../pkg/clock/random.ts"
import { seededSigningKey, type SigningKey } from "../../../pkg/jwt/signing-key.ts"
import {
  certifyKey,
  createCa,
  issueCertificate,
  seededPrivateKey,
  type CertificatePair,
} from "../../../pkg/pki/certificate.ts"
import type { AuthorityName, ClusterPki } from "../../../pkg/pki/cluster-pki.ts"

const AUTHORITIES: readonly AuthorityName[] = ["server-ca", "client-ca", "request-header-ca"]
/** Long enough for any time of a virtual clock. */
const VALIDITY = { notBefore: new Date("1990-01-01T00:00:00Z"), notAfter: new Date("2190-01-01T00:00:00Z") }

let shared: { readonly authorities: ClusterPki["authorities"]; readonly signingKey: SigningKey } | undefined

/**
 * Returns the keys that all test clusters of all processes share. They are part of each history, which must repeat to
 * the byte, so they are derived from a constant. Nothing outside of loopback may trust them; a cluster that listens
 * accepts only its own random token, and no client certificates.
 */
function sharedKeys() {
  if (shared === undefined) {
    const random = seededRandom(0)
    const authorities = Object.fromEntries(
      AUTHORITIES.map((name) => [
        name,
        createCa({ commonName: `k3ts-testing-${name}`, validity: VALIDITY, keyPem: seededPrivateKey(random) }),
      ]),
    ) as Record<AuthorityName, CertificatePair>
    shared = { authorities, signingKey: seededSigningKey(random) }
  }
  return shared
}

const SERVING = {
  subject: { commonName: "kube-apiserver", organizations: [] },
  usages: ["server"],
  dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
  ipAddresses: ["127.0.0.1", "::1"],
} as const

/** Returns the keys of one cluster. Those that only a listening cluster needs are made on demand. */
export function testServingFiles(): ServingFiles {
  const { authorities, signingKey } = sharedKeys()
  const issue: ClusterPki["issue"] = ({
    authority,
    subject,
    usages = [authority === "server-ca" ? "server" : "client"],
    dnsNames = [],
    ipAddresses = [],
  }) => issueCertificate(authorities[authority], { subject, usages, dnsNames, ipAddresses, validity: VALIDITY })
  let serving: CertificatePair | undefined
  let admin: CertificatePair | undefined
  const adminToken = Buffer.from(systemRandom.bytes(24)).toString("base64url")
  return {
    pki: {
      authorities,
      issue,
      leaf: issue,
      certify({ authority, ...request }, spki) {
        const usages = request.usages ?? [authority === "server-ca" ? "server" : "client"]
        return certifyKey(authorities[authority], spki, { ...request, usages, validity: VALIDITY })
      },
    },
    get serving() {
      return (serving ??= issueCertificate(authorities["server-ca"], { ...SERVING, validity: VALIDITY }))
    },
    get admin() {
      return (admin ??= issue({
        name: "client-admin",
        authority: "client-ca",
        subject: { commonName: "system:admin", organizations: ["system:masters"] },
      }))
    },
    adminToken,
    signingKey,
    clientCertificates: false,
  }
}
