/**
 * The certificates of one cluster in one directory: three authorities, and the leaves that are requested.
 *
 * Which authority signs what (k3s pkg/daemons/control/deps): `server-ca` signs serving certificates, `client-ca` the
 * client certificates of users and components for the API server, `request-header-ca` the aggregator's client
 * certificate for extension API servers. They are separate, so that a certificate for one purpose is never accepted for
 * another.
 *
 * Everything is synchronous: a whole cluster's certificates are made in a few milliseconds, and the start needs them
 * first.
 */
import { X509Certificate } from "node:crypto"
import type { Random } from "../clock/random.ts"
import {
  belongTogether,
  type CertificatePair,
  certifyKey,
  createCa,
  issueCertificate,
  newPrivateKey,
  seededPrivateKey,
  type Validity,
} from "./certificate.ts"
import { isSelfIssued } from "./new-authority.ts"
import { readPair, writePair } from "./pair-files.ts"
import { subjectKeyOf } from "./der/subject-key.ts"
import type { Subject } from "./der/subject.ts"
import { needsRenewal, splitPem, verifyCertificate } from "./verify.ts"

export type AuthorityName = "server-ca" | "client-ca" | "request-header-ca"
export const AUTHORITIES: readonly AuthorityName[] = ["server-ca", "client-ca", "request-header-ca"]

const DAY = 24 * 3600 * 1000
/** The life of an authority, ten years, and of a leaf, one year, as in k3s. */
const CA_LIFE = 3650 * DAY
const LEAF_LIFE = 365 * DAY
/**
 * How far before the present a new certificate's validity begins, in milliseconds, for peers whose clocks are behind.
 */
const BACKDATE = 3600 * 1000

export interface LeafRequest {
  /** The file name without its ending, such as `serving-kube-apiserver` or `client-admin`. */
  readonly name: string
  readonly authority: AuthorityName
  readonly subject: Subject
  readonly dnsNames?: readonly string[]
  readonly ipAddresses?: readonly string[]
  readonly uris?: readonly string[]
  /** The usages of the certificate; by default `server` under server-ca and `client` under the others. */
  readonly usages?: readonly ("server" | "client")[]
}

export interface ClusterPki {
  readonly authorities: Readonly<Record<AuthorityName, CertificatePair>>
  /**
   * Returns the leaf from disk if it is still usable (same names, signed by this authority, more than a third of its
   * life left), else a new one, which is written. Call it again later to renew.
   */
  leaf(request: LeafRequest): CertificatePair
  /** Returns a new leaf that is not written to disk: for components in this process, and for nodes that join. */
  issue(request: LeafRequest): CertificatePair
  /**
   * Certifies a public key (SubjectPublicKeyInfo as DER) whose private key is on another machine. Returns the
   * certificate and the intermediates of its authority, as PEM.
   */
  certify(request: Omit<LeafRequest, "name">, spki: Buffer): string
}

export interface ClusterPkiOptions {
  /** The folder of the files. When absent nothing is read or written (test clusters). */
  readonly dir?: string
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** If given, keys and certificates depend only on this seed: for clusters on virtual time; see `seededPrivateKey`. */
  readonly seeded?: Random
}

/**
 * Loads the authorities from `dir`, and makes those that are missing. Throws when an authority's certificate and key
 * both exist and do not belong together: replacing it silently would lock out every client.
 */
export function openClusterPki({ dir, now, seeded }: ClusterPkiOptions): ClusterPki {
  const newKey = () => (seeded === undefined ? newPrivateKey() : seededPrivateKey(seeded))
  const authorities = Object.fromEntries(
    AUTHORITIES.map((name) => [name, loadOrCreateCa(dir, name, now(), newKey)]),
  ) as Record<AuthorityName, CertificatePair>

  const termsOf = (request: Omit<LeafRequest, "name">) => ({
    subject: request.subject,
    usages: usagesOf(request),
    dnsNames: request.dnsNames ?? [],
    ipAddresses: request.ipAddresses ?? [],
    uris: request.uris ?? [],
    validity: validity(now(), LEAF_LIFE),
  })
  const issue = (request: LeafRequest): CertificatePair =>
    issueCertificate(authorities[request.authority], { ...termsOf(request), keyPem: newKey() })

  return {
    authorities,
    issue,
    certify(request, spki) {
      const authority = authorities[request.authority]
      return chainOf(certifyKey(authority, spki, termsOf(request)), authority)
    },
    leaf(request) {
      if (dir === undefined) return issue(request)
      const found = readPair(dir, request.name)
      if (isComplete(found) && stillServes(found, request, authorities[request.authority], now())) return found
      const pair = issue(request)
      writePair(dir, request.name, pair)
      return pair
    },
  }
}

/**
 * Returns what a server sends: its certificate, and the intermediates of its authority, so that a client which trusts
 * an earlier root can verify the chain.
 */
export const chainOf = (certPem: string, authority: CertificatePair): string =>
  [
    certPem,
    ...splitPem(authority.certPem)
      .filter((pem) => !isSelfIssued(pem))
      .map((pem) => `${pem}\n`),
  ].join("")

function loadOrCreateCa(
  dir: string | undefined,
  name: AuthorityName,
  now: number,
  newKey: () => string,
): CertificatePair {
  const found = dir === undefined ? { certPem: undefined, keyPem: undefined } : readPair(dir, name)
  if (isComplete(found) && belongTogether(found)) {
    // An authority that another one has signed is renewed by the owner of that one's key.
    if (!needsRenewal(found.certPem, now) || !isSelfIssued(found.certPem)) return found
    const renewed = renewedCa(found, now)
    if (renewed === undefined) return found
    if (dir !== undefined) writePair(dir, name, renewed, { sync: true })
    return renewed
  } else if (found.certPem !== undefined) {
    const fault =
      found.keyPem === undefined ? `${name}.key is missing` : `${name}.crt and ${name}.key do not belong together`
    throw new Error(
      `Cannot use certificate authority ${dir}/${name}: ${fault}. ` +
        `Restore both files, or remove both to start with a new authority`,
    )
  }
  const pair = createCa({
    commonName: `k3ts-${name}@${Math.floor(now / 1000)}`,
    validity: validity(now, CA_LIFE),
    keyPem: found.keyPem ?? newKey(),
  })
  if (dir !== undefined) writePair(dir, name, pair, { sync: true })
  return pair
}

/**
 * Returns an authority with the same key and names, so that certificates that it has signed stay valid, and clients
 * that trust the old certificate accept new signatures. The certificates after it in its file are kept. Undefined when
 * the names would change, as those of an authority that another program has made: its owner must renew it.
 */
function renewedCa({ certPem, keyPem }: CertificatePair, now: number): CertificatePair | undefined {
  const old = new X509Certificate(certPem)
  const commonName = /^CN=(.*)$/m.exec(old.subject)?.[1] ?? ""
  const made = createCa({ commonName, validity: validity(now, CA_LIFE), keyPem })
  const next = new X509Certificate(made.certPem)
  const keys = [old, next].map((certificate) => subjectKeyOf(certificate)?.toString("hex"))
  if (next.subject !== old.subject || keys[0] !== keys[1]) return undefined
  const others = splitPem(certPem).slice(1)
  return { certPem: [made.certPem, ...others.map((pem) => `${pem}\n`)].join(""), keyPem }
}

const isComplete = (pair: { certPem: string | undefined; keyPem: string | undefined }): pair is CertificatePair =>
  pair.certPem !== undefined && pair.keyPem !== undefined

const usagesOf = ({ usages, authority }: Omit<LeafRequest, "name">): readonly ("server" | "client")[] =>
  usages ?? [authority === "server-ca" ? "server" : "client"]

function stillServes(pair: CertificatePair, request: LeafRequest, authority: CertificatePair, now: number): boolean {
  const verified = verifyCertificate(pair.certPem, authority.certPem, { now })
  if (!verified.ok || !belongTogether(pair) || needsRenewal(pair.certPem, now)) return false
  const { subject } = verified
  const sameSubject =
    subject.commonName === request.subject.commonName &&
    sameMembers(subject.organizations, request.subject.organizations)
  const certificate = new X509Certificate(pair.certPem)
  const covers =
    (request.dnsNames ?? []).every((dns) => certificate.checkHost(dns, { wildcards: false }) !== undefined) &&
    (request.ipAddresses ?? []).every((ip) => certificate.checkIP(ip) !== undefined)
  return sameSubject && covers
}

const sameMembers = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((member) => b.includes(member))

const validity = (now: number, life: number): Validity => ({
  notBefore: new Date(now - BACKDATE),
  notAfter: new Date(now + life),
})
