/**
 * How a machine becomes and stays a member: it learns what authority the servers have, what the cluster is like, and
 * gets a certificate for each of its components. All of that is kept, so that it can start without any server.
 */
import { X509Certificate } from "node:crypto"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { newPrivateKey, type CertificatePair } from "../../../pkg/pki/certificate.ts"
import { makeCertificateRequest } from "../../../pkg/pki/make-request.ts"
import { subjectOf } from "../../../pkg/pki/subject.ts"
import { needsRenewal, splitPem, verifyCertificate } from "../../../pkg/pki/verify.ts"
import { AgentConfig, DOOR, NODE_HEADERS, SERVING } from "../agent-config.ts"
import { authorizationOf, parseJoinToken, pinnedRoot, type JoinCredential, type JoinToken } from "../join-token.ts"
import type { AgentFiles, Remembered } from "./agent-files.ts"
import { askDoor, DoorRefused, type DoorCall } from "./ask-door.ts"

export interface MembershipOptions {
  readonly files: AgentFiles
  /** Undefined where the machine has joined before and none was given. */
  readonly token: string | undefined
  readonly nodeName: string
  /** The addresses of the node, of the families of the cluster's pods. */
  readonly nodeIps: (config: AgentConfig) => readonly string[]
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** The user of a token that is only a password. Source: k3s pkg/clientaccess/token.go. */
const AGENT_USER = "node"
const SERVER_USER = "server"

export class Membership {
  readonly #options: MembershipOptions
  readonly #token: JoinToken | undefined
  readonly #certificates = new Map<string, CertificatePair>()
  #remembered: Remembered | undefined

  /** @throws Error for a token that is none */
  constructor(options: MembershipOptions) {
    this.#options = options
    this.#token = options.token === undefined ? undefined : parseJoinToken(options.token, AGENT_USER)
    this.#remembered = options.files.remembered()
  }

  /** What was learned last; undefined before the machine has joined. */
  get remembered(): Remembered | undefined {
    return this.#remembered
  }

  /** Whether all is there that a start without a server needs. */
  get isComplete(): boolean {
    return this.#remembered !== undefined && this.#remembered.config.certificates.every((kind) => this.#serves(kind))
  }

  /** What of the cluster's configuration a running node does not follow, to be compared. */
  get shape(): string {
    const { config } = this.#remembered ?? {}
    return JSON.stringify({ ...config, servers: [], clientCa: "" })
  }

  /** Keeps the servers' addresses, as `host:port`, for a start at which the given one does not answer. */
  rememberServers(servers: readonly string[]): void {
    const { serverCa, config } = this.#remembered!
    if (servers.join() === config.servers.join()) return
    this.#keep({ serverCa, config: { ...config, servers: [...servers] } })
  }

  /** Returns the certificate of a kind. @throws Error before the machine has joined */
  certificate(kind: string): CertificatePair {
    const known = this.#certificates.get(kind) ?? this.#options.files.certificate(kind)
    if (known === undefined) throw new Error(`This machine has no certificate of the kind ${kind}: it has not joined`)
    this.#certificates.set(kind, known)
    return known
  }

  /**
   * Asks a server what the cluster is like now, and for the certificates that are missing or end before long. Returns
   * whether some are new.
   * @throws DoorRefused when the server does not take this machine; any other Error when it cannot be asked, or shows
   * another authority than the one that this machine has joined
   */
  async refresh(server: string): Promise<boolean> {
    const serverCa = await this.#authorityOf(server).catch((err: unknown) => {
      // Anybody can be at the address of a server that is gone: who has not shown to be one refuses no member.
      throw this.isComplete && err instanceof DoorRefused ? new Error(err.message, { cause: err }) : err
    })
    const { clock } = this.#options
    const config = await this.#asMember({ clock, server, ca: serverCa, method: "GET", path: DOOR.config }, configOf)
    this.#keep({ serverCa, config })
    // By the first one the machine shows that its name is its own.
    const [first, ...others] = config.certificates.filter((kind) => !this.#serves(kind, true))
    if (first === undefined) return false
    await this.#request(server, serverCa, first)
    await Promise.all(others.map((kind) => this.#request(server, serverCa, kind)))
    return true
  }

  #keep(remembered: Remembered): void {
    this.#options.files.remember(remembered)
    this.#remembered = remembered
  }

  /** Returns the authority of a server, which is the one that the token names, or the one that is known. */
  async #authorityOf(server: string): Promise<string> {
    const shown = await askDoor({ clock: this.#options.clock, server, method: "GET", path: DOOR.authorities })
    const hash = this.#token?.caHash
    if (hash !== undefined) {
      const root = pinnedRoot(shown, hash)
      if (root !== undefined) return root
      throw new DoorRefused(server, 403, `its authority is not the one that the token names (SHA-256 ${hash})`)
    }
    const known = this.#remembered?.serverCa
    if (known !== undefined) {
      const roots = splitPem(shown).map(fingerprintOf)
      if (splitPem(known).some((pem) => roots.includes(fingerprintOf(pem)))) return known
      throw new DoorRefused(server, 403, "its authority is another than before; join again with a whole token")
    }
    this.#options.log.warn("The token does not name the authority of the server, so any server is believed", { server })
    return shown
  }

  async #request(server: string, ca: string, kind: string): Promise<void> {
    const { files, nodeName, nodeIps, clock, random, log } = this.#options
    const keyPem = newPrivateKey()
    const call: DoorCall = {
      clock,
      server,
      ca,
      method: "POST",
      path: `${DOOR.certificates}${kind}`,
      headers: {
        [NODE_HEADERS.name]: nodeName,
        [NODE_HEADERS.password]: files.password(random),
        [NODE_HEADERS.addresses]: nodeIps(this.#remembered!.config).join(","),
      },
      body: makeCertificateRequest(keyPem),
    }
    const pair = { certPem: await this.#asMember(call, (text) => text), keyPem }
    files.keepCertificate(kind, pair)
    this.#certificates.set(kind, pair)
    log.debug("Got a certificate", { kind })
  }

  /**
   * Asks by the kubelet's certificate, or by the token where there is none, or where the server does not know the node
   * any more.
   */
  async #asMember<T>(call: DoorCall, read: (text: string) => T): Promise<T> {
    if (this.#remembered !== undefined && this.#serves("kubelet")) {
      const { certPem: cert, keyPem: key } = this.certificate("kubelet")
      try {
        return read(await askDoor({ ...call, certificate: { cert, key } }))
      } catch (err) {
        if (!(err instanceof DoorRefused) || err.status !== 401 || this.#token === undefined) throw err
      }
    }
    const token = this.#token
    if (token === undefined)
      throw new DoorRefused(call.server, 401, "this machine has not joined yet: give it a --token")
    const show = (credential: JoinCredential) =>
      askDoor({ ...call, headers: { ...call.headers, authorization: authorizationOf(credential) } })
    try {
      return read(await show(token.credential))
    } catch (err) {
      // A password alone may also be that of servers.
      const { credential, caHash } = token
      const other = caHash === undefined && "user" in credential ? { ...credential, user: SERVER_USER } : undefined
      if (!(err instanceof DoorRefused) || err.status !== 401 || other === undefined) throw err
      return read(await show(other))
    }
  }

  /** Whether a certificate is there, in its time and of the authority that counts; with `lasting` also for a while. */
  #serves(kind: string, lasting = false): boolean {
    const { nodeName, nodeIps, clock, files } = this.#options
    const { serverCa, config } = this.#remembered!
    const pair = this.#certificates.get(kind) ?? files.certificate(kind)
    if (pair === undefined || (lasting && needsRenewal(pair.certPem, clock.now()))) return false
    const [, ...intermediates] = splitPem(pair.certPem)
    const ca = kind === SERVING ? serverCa : config.clientCa
    if (!verifyCertificate(pair.certPem, ca, { now: clock.now(), intermediates }).ok) return false
    if (subjectOf(pair.certPem).commonName !== `system:node:${nodeName}`) return kind !== "kubelet" && kind !== SERVING
    const certificate = new X509Certificate(pair.certPem)
    return kind !== SERVING || nodeIps(config).every((ip) => certificate.checkIP(ip) !== undefined)
  }
}

const configOf = (text: string): AgentConfig => AgentConfig.parse(JSON.parse(text))

const fingerprintOf = (pem: string): string => new X509Certificate(pem).fingerprint256
