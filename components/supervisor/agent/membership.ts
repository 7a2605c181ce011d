/**
 * How a machine becomes a member of the cluster and stays one: it learns the CA of the servers and the configuration of
 * the cluster, and gets a certificate for each of its components. All of these are kept on disk, so that the machine
 * can start while no server answers.
 */
import { X509Certificate } from "node:crypto"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { newPrivateKey, type CertificatePair } from "../../../pkg/pki/certificate.ts"
import { makeCertificateRequest } from "../../../pkg/pki/request/make-request.ts"
import { subjectOf } from "../../../pkg/pki/der/subject.ts"
import { needsRenewal, splitPem, verifyCertificate } from "../../../pkg/pki/verify.ts"
import { AgentConfig } from "../agent-config.ts"
import { SUPERVISOR_PATHS, NODE_HEADERS, SERVING } from "../supervisor-paths.ts"
import { authorizationOf, parseJoinToken, pinnedRoot, type JoinCredential, type JoinToken } from "../join-token.ts"
import type { AgentFiles, Remembered } from "./agent-files.ts"
import { askSupervisor, isUntrusted, SupervisorRefused, type SupervisorCall } from "./ask-supervisor.ts"

export interface MembershipOptions {
  readonly files: AgentFiles
  /** The join token. A machine that has joined before needs none. */
  readonly token: string | undefined
  readonly nodeName: string
  /** Returns the addresses of the node, one for each IP family of the cluster's pods. */
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
  /** Whether a server has refused the certificates since they were made: then only the token helps. */
  #isForgotten = false

  /** @throws Error when the token is malformed */
  constructor(options: MembershipOptions) {
    this.#options = options
    this.#token = options.token === undefined ? undefined : parseJoinToken(options.token, AGENT_USER)
    this.#remembered = options.files.remembered()
  }

  /** The newest configuration that a server has given; undefined before the machine has joined. */
  get remembered(): Remembered | undefined {
    return this.#remembered
  }

  /** Whether the disk has everything that a start without a server needs. */
  get isComplete(): boolean {
    return this.#remembered !== undefined && this.#remembered.config.certificates.every((kind) => this.#serves(kind))
  }

  /** The part of the cluster's configuration that takes effect only when the agent restarts, as a text to compare. */
  get shape(): string {
    const { config } = this.#remembered ?? {}
    return JSON.stringify({ ...config, servers: [], clientCa: "" })
  }

  /** Keeps the servers' addresses, as `host:port`, for a start at which the server of --server does not answer. */
  rememberServers(servers: readonly string[]): void {
    const { serverCa, config } = this.#remembered!
    if (servers.join() === config.servers.join()) return
    this.#keep({ serverCa, config: { ...config, servers: [...servers] } })
  }

  /** Returns the certificate of a kind (AGENT_IDENTITIES). @throws Error before the machine has joined */
  certificate(kind: string): CertificatePair {
    const known = this.#certificates.get(kind) ?? this.#options.files.certificate(kind)
    if (known === undefined) throw new Error(`This machine has no certificate of the kind ${kind}: it has not joined`)
    this.#certificates.set(kind, known)
    return known
  }

  /**
   * Asks a server for the current configuration of the cluster, and for the certificates that are missing, expire soon
   * or are signed by an authority that has been replaced. Returns whether there are new certificates or authorities.
   * @throws SupervisorRefused when the server does not accept this machine; any other Error when the server cannot be
   * asked, or has another CA than the cluster that this machine has joined
   */
  async refresh(server: string): Promise<boolean> {
    const serverCa = await this.#authorityOf(server).catch((err: unknown) => {
      // Another program may have the address of a server that is gone. Until its certificate is checked, its refusal
      // must not stop a machine that has joined.
      throw this.isComplete && err instanceof SupervisorRefused ? new Error(err.message, { cause: err }) : err
    })
    const { clock } = this.#options
    const config = await this.#asMember(
      { clock, server, ca: serverCa, method: "GET", path: SUPERVISOR_PATHS.config },
      configOf,
    )
    const before = this.#remembered
    this.#keep({ serverCa, config })
    const isOther = before?.serverCa !== serverCa || before.config.clientCa !== config.clientCa
    // The first request proves with the password that the node name belongs to this machine; the server keeps the
    // password. So it must end before the others start.
    const [first, ...others] = config.certificates.filter((kind) => this.#isForgotten || !this.#serves(kind, true))
    if (first === undefined) return isOther
    await this.#request(server, serverCa, first)
    await Promise.all(others.map((kind) => this.#request(server, serverCa, kind)))
    this.#isForgotten = false
    return true
  }

  #keep(remembered: Remembered): void {
    this.#options.files.remember(remembered)
    this.#remembered = remembered
  }

  /**
   * Returns the CAs of a server's cluster, which only a server whose certificate leads to the CA in the token, or to
   * one that is known already, may name. So the machine also learns of authorities that come with `k3ts certificate
   * rotate-ca`, before the old ones go.
   */
  async #authorityOf(server: string): Promise<string> {
    const { clock, log } = this.#options
    const call = { clock, server, method: "GET", path: SUPERVISOR_PATHS.authorities } as const
    const shown = await askSupervisor(call)
    const hash = this.#token?.caHash
    const pinned = hash === undefined ? undefined : pinnedRoot(shown, hash)
    const trusted = pinned ?? this.#remembered?.serverCa
    const fault = `its CA is not the one that ${hash === undefined ? "this machine has joined" : `the token names (SHA-256 ${hash})`}`
    const mend = "if the cluster has a new CA, take the token anew from server/agent-token of a server"
    if (trusted === undefined && hash === undefined) {
      log.warn("The token has no hash of the server's CA, so the server's certificate is not checked", { server })
      return shown
    }
    if (trusted === undefined) throw new SupervisorRefused(server, 403, `${fault}; ${mend}`)
    const confirmed = await askSupervisor({ ...call, ca: trusted }).catch((err: unknown) => {
      throw isUntrusted(err) ? new SupervisorRefused(server, 403, `${fault}; ${mend}`) : err
    })
    if (hash !== undefined && pinned === undefined)
      log.warn("The token names an earlier CA of the cluster: take the new token before this machine must join again", {
        server,
      })
    return confirmed
  }

  async #request(server: string, ca: string, kind: string): Promise<void> {
    const { files, nodeName, nodeIps, clock, random, log } = this.#options
    const keyPem = newPrivateKey()
    const call: SupervisorCall = {
      clock,
      server,
      ca,
      method: "POST",
      path: `${SUPERVISOR_PATHS.certificates}${kind}`,
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
   * Sends a request with the kubelet's certificate. Uses the token where there is no certificate, or where the server
   * no longer knows the node.
   */
  async #asMember<T>(call: SupervisorCall, read: (text: string) => T): Promise<T> {
    if (this.#remembered !== undefined && !this.#isForgotten && this.#serves("kubelet")) {
      const { certPem: cert, keyPem: key } = this.certificate("kubelet")
      try {
        return read(await askSupervisor({ ...call, certificate: { cert, key } }))
      } catch (err) {
        if (!(err instanceof SupervisorRefused) || err.status !== 401 || this.#token === undefined) throw err
        this.#isForgotten = true
      }
    }
    const token = this.#token
    if (token === undefined)
      throw new SupervisorRefused(call.server, 401, "this machine has not joined yet: give it a --token")
    const show = (credential: JoinCredential) =>
      askSupervisor({ ...call, headers: { ...call.headers, authorization: authorizationOf(credential) } })
    try {
      return read(await show(token.credential))
    } catch (err) {
      // A token that is only a password may be the password for agents or the one for servers.
      const { credential, caHash } = token
      const other = caHash === undefined && "user" in credential ? { ...credential, user: SERVER_USER } : undefined
      if (!(err instanceof SupervisorRefused) || err.status !== 401 || other === undefined) throw err
      return read(await show(other))
    }
  }

  /**
   * Whether there is a certificate of this kind that is valid now and signed by a CA of the cluster. With `lasting` it
   * must also have more than a third of its life left and be signed by the newest CA, which is the first in its bundle.
   */
  #serves(kind: string, lasting = false): boolean {
    const { nodeName, nodeIps, clock, files } = this.#options
    const { serverCa, config } = this.#remembered!
    const pair = this.#certificates.get(kind) ?? files.certificate(kind)
    if (pair === undefined || (lasting && needsRenewal(pair.certPem, clock.now()))) return false
    const [, ...intermediates] = splitPem(pair.certPem)
    const ca = kind === SERVING ? serverCa : config.clientCa
    if (!verifyCertificate(pair.certPem, ca, { now: clock.now(), intermediates }).ok) return false
    if (lasting && !isSignedBy(pair.certPem, splitPem(ca)[0]!)) return false
    if (subjectOf(pair.certPem).commonName !== `system:node:${nodeName}`) return kind !== "kubelet" && kind !== SERVING
    const certificate = new X509Certificate(pair.certPem)
    return kind !== SERVING || nodeIps(config).every((ip) => certificate.checkIP(ip) !== undefined)
  }
}

const configOf = (text: string): AgentConfig => AgentConfig.parse(JSON.parse(text))

function isSignedBy(pem: string, authorityPem: string): boolean {
  const [certificate, authority] = [new X509Certificate(pem), new X509Certificate(authorityPem)]
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}
