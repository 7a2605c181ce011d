/** The certificates of one cluster under one directory: three authorities and whatever leaves are asked for.
 *
 *  Which authority signs what (k3s pkg/daemons/control/deps): `server-ca` what servers show, `client-ca` what users and
 *  components show to the API server,
 *  `request-header-ca` what the aggregator shows to extension API servers. They are apart so that being trusted as one
 *  never makes you another.
 *
 *  Everything is synchronous: a whole cluster's certificates are made in a few milliseconds, and start-up wants them
 * before anything else.
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
/** As k3s: ten years for an authority, one for a leaf. */
const CA_LIFE = 3650 * DAY
const LEAF_LIFE = 365 * DAY
/** A certificate begins this long before it is made, for peers whose clocks are behind. */
const BACKDATE = 3600 * 1000

export interface LeafRequest {
  /** File name without ending, for instance `serving-kube-apiserver` or `client-admin`. */
  readonly name: string
  readonly authority: AuthorityName
  readonly subject: Subject
  readonly dnsNames?: readonly string[]
  readonly ipAddresses?: readonly string[]
  readonly uris?: readonly string[]
  /** What it is for; by default `server` under server-ca and `client` under the others. */
  readonly usages?: readonly ("server" | "client")[]
}

export interface ClusterPki {
  readonly authorities: Readonly<Record<AuthorityName, CertificatePair>>
  /**
   * The leaf as it is on disk when it still serves (same names, its authority, more than a third of its life left),
   * else a new one, written.
   *  Call it again later to renew. */
  leaf(request: LeafRequest): CertificatePair
  /** A leaf that is not written anywhere: for components in this process, for nodes that join. */
  issue(request: LeafRequest): CertificatePair
  /**
   * Certifies a public key (SubjectPublicKeyInfo as DER) whose private key is on another machine, and which nothing is
   * named after. Returns the certificate and those of its authority that are no roots, as PEM.
   */
  certify(request: Omit<LeafRequest, "name">, spki: Buffer): string
}

export interface ClusterPkiOptions {
  /** Folder of the files; nothing is read or written when left out (test clusters). */
  readonly dir?: string
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Makes keys and certificates follow from the seed, for clusters on virtual time; see `seededPrivateKey`. */
  readonly seeded?: Random
}

/** Loads the authorities from `dir`, making those that are missing.
 *  Throws when an authority's certificate and key are both there and do not belong together: to replace it silently
 * would lock out every client.
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
 * What a server shows: its certificate, and those of its authority that are no roots, so that a client which trusts an
 * earlier root finds a way to it.
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
    // An authority that another one has signed is renewed by whoever has the key of that.
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
 * An authority with the same key and the same names, so that what it has signed stays valid, and clients that trust the
 * old certificate trust the new one's signatures. What stands behind it in its file is kept. Undefined where the names
 * would be others, as those of an authority that another program has made: whoever made it renews it.
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
