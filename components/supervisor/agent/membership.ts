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
import { askSupervisor, SupervisorRefused, type SupervisorCall } from "./ask-supervisor.ts"

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
   * Asks a server for the current configuration of the cluster, and for the certificates that are missing or expire
   * soon. Returns whether there are new certificates. @throws SupervisorRefused when the server does not accept this
   * machine; any other Error when the server cannot be asked, or has another CA than the cluster that this machine has
   * joined
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
    this.#keep({ serverCa, config })
    // The first request proves with the password that the node name belongs to this machine; the server keeps the
    // password. So it must end before the others start.
    const [first, ...others] = config.certificates.filter((kind) => this.#isForgotten || !this.#serves(kind, true))
    if (first === undefined) return false
    await this.#request(server, serverCa, first)
    await Promise.all(others.map((kind) => this.#request(server, serverCa, kind)))
    this.#isForgotten = false
    return true
  }

  #keep(remembered: Remembered): void {
    this.#options.files.remember(remembered)
    this.#remembered = remembered
  }

  /** Returns the CA of a server, checked against the hash in the token or against the CA that is known already. */
  async #authorityOf(server: string): Promise<string> {
    const shown = await askSupervisor({
      clock: this.#options.clock,
      server,
      method: "GET",
      path: SUPERVISOR_PATHS.authorities,
    })
    const hash = this.#token?.caHash
    if (hash !== undefined) {
      const root = pinnedRoot(shown, hash)
      if (root !== undefined) return root
      throw new SupervisorRefused(server, 403, `its CA is not the one that the token names (SHA-256 ${hash})`)
    }
    const known = this.#remembered?.serverCa
    if (known !== undefined) {
      const roots = splitPem(shown).map(fingerprintOf)
      if (splitPem(known).some((pem) => roots.includes(fingerprintOf(pem)))) return known
      throw new SupervisorRefused(
        server,
        403,
        "its CA is not the one that this machine has joined; join again with a whole token",
      )
    }
    this.#options.log.warn("The token has no hash of the server's CA, so the server's certificate is not checked", {
      server,
    })
    return shown
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
   * Whether there is a certificate of this kind that is valid now and signed by the current CA. With `lasting` it must
   * also have more than a third of its life left.
   */
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
