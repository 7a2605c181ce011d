import { readFileSync } from "node:fs"
import { hostname } from "node:os"
import { isIP } from "node:net"
import { defaultAdvertiseAddress, type ServingFiles } from "../../../components/apiserver/serving/serving.ts"
import { familyOf, addressAt, parseNetwork } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { newSigningKey, signingKey, verifyingKeysIn } from "../../../pkg/jwt/signing-key.ts"
import type { CertificatePair } from "../../../pkg/pki/certificate.ts"
import { openClusterPki, type ClusterPki } from "../../../pkg/pki/cluster-pki.ts"
import { readPair, writePair } from "../../../pkg/pki/pair-files.ts"
import { UsageError } from "../cli/usage-error.ts"
import type { ApiServerFlags } from "./api-server-flags.ts"

/** The name of the serving certificate's files in cert-dir. Source: apiserver pkg/server/options/serving.go. */
const PAIR_NAME = "apiserver"

/**
 * Returns the certificates and keys that the flags name. What they do not name is made for this process alone, so that
 * nothing but what the flags name is accepted. @throws UsageError that names a file
 */
export function servingFilesOf(flags: ApiServerFlags): ServingFiles {
  const own = openClusterPki({ now: () => realClock.now() })
  const clientCa = flags["client-ca-file"]
  const pki: ClusterPki = {
    ...own,
    authorities: {
      ...own.authorities,
      "client-ca": {
        ...own.authorities["client-ca"],
        certPem: own.authorities["client-ca"].certPem + (clientCa === undefined ? "" : textOf(clientCa)),
      },
    },
  }
  const keyFile = flags["service-account-signing-key-file"]
  const signing = keyFile === undefined ? newSigningKey() : keyIn(keyFile, signingKey)
  return {
    pki,
    serving: servingPair(flags, own),
    admin: own.issue({
      name: "client-admin",
      authority: "client-ca",
      subject: { commonName: "system:admin", organizations: ["system:masters"] },
    }),
    adminToken: Buffer.from(systemRandom.bytes(24)).toString("base64url"),
    signingKey: signing,
    verifyingKeys: [signing, ...flags["service-account-key-file"].flatMap((path) => keyIn(path, verifyingKeysIn))],
  }
}

/** Returns the pair that the flags name; makes that of cert-dir if it is missing, as upstream does. */
function servingPair(flags: ApiServerFlags, own: ClusterPki): CertificatePair {
  const { "tls-cert-file": certFile, "tls-private-key-file": privateKeyFile, "cert-dir": dir } = flags
  if (certFile !== undefined && privateKeyFile !== undefined)
    return { certPem: textOf(certFile), keyPem: textOf(privateKeyFile) }
  const { certPem, keyPem } = dir === undefined ? ({} as Partial<CertificatePair>) : readPair(dir, PAIR_NAME)
  if (certPem !== undefined && keyPem !== undefined) return { certPem, keyPem }
  const made = own.issue({ name: PAIR_NAME, authority: "server-ca", ...namesOf(flags) })
  if (dir !== undefined) writePair(dir, PAIR_NAME, made)
  return made
}

function namesOf(flags: ApiServerFlags) {
  const [range = "10.0.0.0/24"] = flags["service-cluster-ip-range"]
  const { "bind-address": bound, "advertise-address": advertised } = flags
  const names = [
    ...["127.0.0.1", "localhost", hostname(), bound, advertised ?? defaultAdvertiseAddress(familyOf(range))],
    ...["kubernetes", "kubernetes.default", "kubernetes.default.svc", addressAt(parseNetwork(range)!, 1)],
  ]
  return {
    subject: { commonName: "kube-apiserver", organizations: [] },
    dnsNames: names.filter((name) => isIP(name) === 0),
    ipAddresses: names.filter((name) => isIP(name) !== 0),
  }
}

function keyIn<T>(path: string, read: (pem: string) => T): T {
  try {
    return read(textOf(path))
  } catch (err) {
    if (err instanceof UsageError) throw err
    throw new UsageError(`cannot use the key of service account tokens ${path}: ${(err as Error).message}`)
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch (err) {
    throw new UsageError(`cannot read ${path}: ${(err as Error).message}`)
  }
}
