import { join } from "node:path"
import { mkdirSync } from "node:fs"
import { hostname, networkInterfaces } from "node:os"
import { isIP } from "node:net"
import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { isGlobalUnicast } from "../../../pkg/apimachinery/addresses/global-unicast.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import {
  loadOrCreateSigningKey,
  loadVerifyingKeys,
  newSigningKey,
  type SigningKey,
  type VerifyingKey,
} from "../../../pkg/jwt/signing-key.ts"
import type { CertificatePair } from "../../../pkg/pki/certificate.ts"
import { openClusterPki, type ClusterPki, type LeafRequest } from "../../../pkg/pki/cluster-pki.ts"
import { renewalTime } from "../../../pkg/pki/verify.ts"
import { readIfExists, replaceFile } from "../../../pkg/files/files.ts"
import type { FurtherAuthorities } from "./further-authorities.ts"

/** The common name in the certificates of the aggregator and other front proxies. */
export const FRONT_PROXY = "system:auth-proxy"

/** The user that the API server is for kubelets. A bootstrap binding gives it all of the kubelet's API. */
export const KUBELET_CLIENT = "system:k3ts-kubelet-client"

/** The server's own certificates, and the authorities it trusts. */
export interface ServingFiles {
  readonly pki: ClusterPki
  readonly serving: CertificatePair
  /** The certificate of the administrator `system:admin` in the group `system:masters`. */
  readonly admin: CertificatePair
  readonly adminToken: string
  readonly signingKey: SigningKey
  /** Keys that verify tokens: the signing key alone unless given. */
  readonly verifyingKeys?: readonly VerifyingKey[]
  /** False where no client certificate counts; true unless given. */
  readonly clientCertificates?: boolean
  /** Authorities of others whose certificates count too. */
  readonly further?: FurtherAuthorities | undefined
}

/** Keys of service account tokens that are not the cluster's own. */
export interface ServiceAccountKeys {
  readonly signing?: SigningKey | undefined
  readonly verifying?: readonly VerifyingKey[] | undefined
}

export interface ServingFilesOptions {
  /** `<data-dir>/server`; without it nothing is read or written (test clusters). */
  readonly dir: string | undefined
  readonly advertiseAddress: string
  /** More names and addresses of the server for its certificate. */
  readonly tlsSans: readonly string[]
  /** The first address of each service range, under which pods reach the server. */
  readonly serviceAddresses: readonly string[]
  readonly clusterDomain: string
  readonly now: () => number
  readonly random: Random
  readonly further?: FurtherAuthorities | undefined
  readonly serviceAccounts?: ServiceAccountKeys | undefined
}

/**
 * Reads the files on disk and makes missing ones: certificates under `tls/`, the service account key, the
 * administrator's token.
 */
export function openServingFiles({
  dir,
  advertiseAddress,
  tlsSans,
  serviceAddresses,
  clusterDomain,
  now,
  random,
  further,
  serviceAccounts,
}: ServingFilesOptions): ServingFiles {
  const tls = dir === undefined ? undefined : join(dir, "tls")
  if (tls !== undefined) mkdirSync(tls, { recursive: true, mode: 0o700 })
  const pki = openClusterPki({ ...(tls === undefined ? {} : { dir: tls }), now })
  const names = [
    ...tlsSans,
    advertiseAddress,
    ...serviceAddresses,
    "127.0.0.1",
    "::1",
    "localhost",
    hostname(),
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    `kubernetes.default.svc.${clusterDomain}`,
  ]
  const unique = [...new Set(names.filter((name) => name !== ""))]
  const keyFile = tls === undefined ? undefined : join(tls, "service.key")
  return {
    pki,
    further,
    serving: pki.leaf({
      name: "serving-kube-apiserver",
      authority: "server-ca",
      subject: { commonName: "kube-apiserver", organizations: [] },
      dnsNames: unique.filter((name) => isIP(name) === 0),
      ipAddresses: unique.filter((name) => isIP(name) !== 0),
    }),
    admin: pki.leaf({
      name: "client-admin",
      authority: "client-ca",
      subject: { commonName: "system:admin", organizations: ["system:masters"] },
    }),
    adminToken: dir === undefined ? newToken(random) : tokenIn(join(dir, "token"), random),
    ...tokenKeys(keyFile, serviceAccounts),
  }
}

/** Returns the given keys; the cluster's own ones, which are made if missing, where none signs. */
function tokenKeys(
  file: string | undefined,
  { signing, verifying = [] }: ServiceAccountKeys = {},
): Pick<ServingFiles, "signingKey" | "verifyingKeys"> {
  if (signing !== undefined) return { signingKey: signing, verifyingKeys: [signing, ...verifying] }
  const own = file === undefined ? newSigningKey() : loadOrCreateSigningKey(file)
  const verifiers = file === undefined ? [own] : loadVerifyingKeys(file)
  return { signingKey: own, verifyingKeys: [...verifiers, ...verifying] }
}

/** Returns the authorities whose client certificates are users, as PEM. */
export const clientAuthorities = ({ pki, further }: Pick<ServingFiles, "pki" | "further">): string =>
  together(pki.authorities["client-ca"].certPem, further?.clientCaPem)

/** Joins texts of PEM. */
export const together = (...pems: readonly (string | undefined)[]): string =>
  pems.map((pem) => (pem === undefined || pem.trim() === "" ? "" : `${pem.trimEnd()}\n`)).join("")

/** Returns a certificate of a cluster's files. */
export type CertificateIn = (files: Pick<ServingFiles, "pki">) => CertificatePair

/**
 * Returns a certificate for the files in use. It is made at its first use, and again when the files change or less than
 * a third of its life is left. `now` is in ms since 1970.
 */
function certificateInUse(now: () => number, request: LeafRequest): CertificateIn {
  let made: { readonly of: object; readonly pair: CertificatePair; readonly until: number } | undefined
  return (files) => {
    if (made?.of !== files || now() >= made.until) {
      const pair = files.pki.leaf(request)
      made = { of: files, pair, until: renewalTime(pair.certPem) }
    }
    return made.pair
  }
}

/** Returns the certificate by which extension API servers know that a request comes from the aggregator. */
export const frontProxyCertificates = (now: () => number): CertificateIn =>
  certificateInUse(now, {
    name: "client-auth-proxy",
    authority: "request-header-ca",
    subject: { commonName: FRONT_PROXY, organizations: [] },
  })

/** Returns the certificate by which kubelets on other machines know the API server. */
export const kubeletClientCertificates = (now: () => number): CertificateIn =>
  certificateInUse(now, {
    name: "client-kubelet",
    authority: "client-ca",
    subject: { commonName: KUBELET_CLIENT, organizations: [] },
  })

function tokenIn(path: string, random: Random): string {
  const known = readIfExists(path)?.trim()
  if (known !== undefined && known !== "") return known
  const token = newToken(random)
  replaceFile(path, `${token}\n`, { mode: 0o600 })
  return token
}

const newToken = (random: Random): string => Buffer.from(random.bytes(24)).toString("base64url")

/**
 * Returns the address under which other machines reach this one: its first address of the family that is neither
 * loopback nor, for IPv6, link-local; the loopback address when it has none.
 */
export function defaultAdvertiseAddress(family: Family): string {
  for (const addresses of Object.values(networkInterfaces())) {
    const found = addresses?.find(
      (one) => one.family === family && !one.internal && (family === "IPv4" || isGlobalUnicast(one.address)),
    )
    if (found !== undefined) return found.address
  }
  return family === "IPv4" ? "127.0.0.1" : "::1"
}
