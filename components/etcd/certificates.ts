/**
 * The authorities and certificates by which members of etcd, and servers as their clients, know each other. The names
 * are k3s's. Source: k3s pkg/daemons/control/deps/deps.go genETCDCerts.
 *
 * A certificate lives as long as its authority: the authority's key lies beside it, so whoever has the folder could
 * make another one.
 */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { z } from "zod"
import { readIfExists, replaceFile } from "../../pkg/files/files.ts"
import { belongTogether, createCa, issueCertificate, type CertificatePair } from "../../pkg/pki/certificate.ts"

const YEAR_MS = 365 * 24 * 3_600_000
const LIFE_MS = 10 * YEAR_MS
/** Clocks of other members may be behind. */
const SKEW_MS = 3_600_000

const AUTHORITIES = ["server-ca", "peer-ca"] as const

/** The authorities as PEM, which all servers have in common. */
export const EtcdAuthorities = z.object({
  "server-ca": z.object({ certPem: z.string(), keyPem: z.string() }),
  "peer-ca": z.object({ certPem: z.string(), keyPem: z.string() }),
})
export type EtcdAuthorities = Readonly<z.output<typeof EtcdAuthorities>>

export const etcdTlsFiles = (folder: string) => ({
  serverCa: join(folder, "server-ca.crt"),
  peerCa: join(folder, "peer-ca.crt"),
  server: pairOf(folder, "server-client"),
  peer: pairOf(folder, "peer-server-client"),
  client: pairOf(folder, "client"),
})

const pairOf = (folder: string, name: string) => ({
  certFile: join(folder, `${name}.crt`),
  keyFile: join(folder, `${name}.key`),
})

/** Returns the authorities of a folder, which are made where there are none. @throws Error for half of one */
export function openEtcdAuthorities(folder: string, now: number): EtcdAuthorities {
  const validity = { notBefore: new Date(now - SKEW_MS), notAfter: new Date(now + LIFE_MS) }
  const open = (name: (typeof AUTHORITIES)[number]): CertificatePair => {
    const files = pairOf(folder, name)
    const [certPem, keyPem] = [readIfExists(files.certFile), readIfExists(files.keyFile)]
    if (certPem === undefined && keyPem === undefined) {
      const made = createCa({ commonName: `etcd-${name}@${Math.floor(now / 1000)}`, validity })
      writePair(folder, name, made)
      return made
    }
    if (certPem === undefined || keyPem === undefined || !belongTogether({ certPem, keyPem }))
      throw new Error(
        `Cannot use ${files.certFile}: it and ${files.keyFile} do not belong together, or one is missing; restore both`,
      )
    return { certPem, keyPem }
  }
  return { "server-ca": open("server-ca"), "peer-ca": open("peer-ca") }
}

/** Replaces the authorities of a folder by those of the cluster that this server joins. */
export function keepEtcdAuthorities(folder: string, authorities: EtcdAuthorities): void {
  for (const name of AUTHORITIES) writePair(folder, name, authorities[name])
}

/** Makes the certificates of this machine anew: its address may be another one than at the last start. */
export function issueEtcdCertificates(folder: string, authorities: EtcdAuthorities, own: OwnNames, now: number): void {
  const { nodeName, address } = own
  const names = { dnsNames: [nodeName, "localhost"], ipAddresses: [...new Set([address, "127.0.0.1", "::1"])] }
  const common = {
    usages: ["server", "client"] as const,
    validity: { notBefore: new Date(now - SKEW_MS), notAfter: new Date(now + LIFE_MS) },
  }
  const subject = (commonName: string) => ({ commonName, organizations: [] })
  const [serverCa, peerCa] = [authorities["server-ca"], authorities["peer-ca"]]
  writePair(
    folder,
    "server-client",
    issueCertificate(serverCa, { ...common, ...names, subject: subject("etcd-server") }),
  )
  writePair(
    folder,
    "peer-server-client",
    issueCertificate(peerCa, { ...common, ...names, subject: subject("etcd-peer") }),
  )
  const client = issueCertificate(serverCa, { ...common, usages: ["client"], subject: subject("etcd-client") })
  writePair(folder, "client", client)
}

interface OwnNames {
  readonly nodeName: string
  readonly address: string
}

/** The key first: a certificate is never there without its key. */
function writePair(folder: string, name: string, { certPem, keyPem }: CertificatePair): void {
  const { certFile, keyFile } = pairOf(folder, name)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  replaceFile(keyFile, keyPem, { mode: 0o600 })
  replaceFile(certFile, certPem, { mode: 0o600 })
}
