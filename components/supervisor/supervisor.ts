/**
 * What the API server's port serves to machines that join, before any stage of an API request:
 *
 *     GET  /cacerts                      the certificates of the server's CA, for anybody
 *     GET  /v1-k3ts/config               what a node must know of the cluster
 *     GET  /v1-k3ts/server-bootstrap     what a server needs that joins, for the token of servers only
 *     POST /v1-k3ts/certificates/<kind>  a PKCS #10 request becomes a certificate; the private key stays on the machine
 *     GET  /v1-k3ts/tunnel               opens the tunnel by which the API server reaches the node's kubelet
 *     GET  /v1-k3ts/tunnel/<id>          opens a connection that the server has asked for over the tunnel
 *
 * A machine sends a join token, or shows the client certificate of its kubelet once it has one. Source: k3s
 * pkg/server/handlers.
 */
import { X509Certificate } from "node:crypto"
import type { Duplex } from "node:stream"
import { Lease } from "../../pkg/api/coordination/v1/lease.ts"
import {
  SERVER_LEASE_LABELS,
  SERVER_LEASE_NAMESPACE,
  servingNamesOf,
} from "../../pkg/api/coordination/v1/server-lease.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { addressText, contains, isMapped, parseAddress, parseNetwork } from "../../pkg/apimachinery/addresses/cidr.ts"
import { ApiError, isNotFound } from "../../pkg/apimachinery/errors.ts"
import { isDNS1123Subdomain } from "../../pkg/apimachinery/validation/names.ts"
import type { Client } from "../../pkg/client/client.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import type { Random } from "../../pkg/clock/random.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { CertificateRequestError, readCertificateRequest } from "../../pkg/pki/request/certificate-request.ts"
import type { CertificatePair } from "../../pkg/pki/certificate.ts"
import type { ClusterPki } from "../../pkg/pki/cluster-pki.ts"
import { membershipIn, membershipUri, type NodeMembership } from "../../pkg/pki/node-membership.ts"
import type { Subject } from "../../pkg/pki/der/subject.ts"
import { verifyCertificate } from "../../pkg/pki/verify.ts"
import { answer, peerCertificate, remoteAddress, stopReceiving } from "../../pkg/runtime/http/listen.ts"
import type { ServerAnswer, ServerRequest } from "../../pkg/runtime/http/server-request.ts"
import type { AgentConfig } from "./agent-config.ts"
import { SUPERVISOR_PATHS, NODE_HEADERS, SERVING } from "./supervisor-paths.ts"
import { Attempts } from "./attempts.ts"
import { credentialOfHeader, type JoinCredential } from "./join-token.ts"
import type { JoinsAs, JoinTokens } from "./join-tokens.ts"
import { nodeNameProblem } from "./node-names.ts"
import { NodePasswords } from "./node-passwords.ts"
import { TUNNEL_PROTOCOL } from "./tunnel/protocol.ts"
import type { Tunnels } from "./tunnel/tunnels.ts"
import { refuseUpgrade } from "../../pkg/streaming/upgrade.ts"
import { readText } from "./read-text.ts"
import { serversIn } from "./servers-in.ts"

export interface SupervisorOptions {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Reads and writes the Secrets of node passwords; reads Nodes, Leases of servers, the EndpointSlice `kubernetes`. */
  readonly client: Client
  readonly tokens: Pick<JoinTokens, "verify">
  readonly tunnels: Tunnels
  /** Returns the current certificates; they change when they are renewed. */
  readonly files: () => { readonly pki: ClusterPki; readonly serving: CertificatePair }
  readonly config: Omit<AgentConfig, "clientCa" | "servers">
  /** Returns what a joining server needs, as JSON; undefined where none can join. */
  readonly invite: (() => Promise<string>) | undefined
  /** Returns the user in the client certificate of this kind on this node; undefined for an unknown kind. */
  readonly subjectOf: (kind: string, node: string) => Subject | undefined
}

export interface Supervisor {
  /** Serves a request for one of the supervisor's paths. */
  onRequest(req: ServerRequest, res: ServerAnswer, notes?: RequestNotes): void
  /** Takes the connection of an agent's tunnel. */
  onUpgrade(req: ServerRequest, socket: Duplex, head: Buffer, notes?: RequestNotes): void
}

/** What is noted of a request for the audit log of the API server. */
export interface RequestNotes {
  sender(user: { readonly name: string; readonly groups: readonly string[] }): void
  annotate(key: string, value: string): void
  refused(error: ApiError): void
  upgraded(): void
}

/** The sender of a request: a machine that has shown a token, or a node that has joined. */
type Asker = "joining" | NodeMembership

const MOST_BODY_BYTES = 64 * 1024
const MOST_PASSWORD = 256
/** Of an address in a minute: wrong tokens, and names of nodes that nobody has joined with before. */
const MOST_WRONG_TOKENS = 10
const MOST_NEW_NAMES = 100
const NODE_USER = "system:node:"

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { clock, log, client, tokens, files, config } = options
  const failed = new Attempts(clock, MOST_WRONG_TOKENS)
  const newNames = new Attempts(clock, MOST_NEW_NAMES)
  const passwords = new NodePasswords(options)

  async function serve(
    req: ServerRequest,
    res: ServerAnswer,
    path: string,
    notes: RequestNotes | undefined,
  ): Promise<void> {
    const authorities = () => files().pki.authorities
    if (path === SUPERVISOR_PATHS.authorities) {
      notes?.sender(ANONYMOUS)
      expectMethod(req, "GET")
      return answer(res, 200, PEM, authorities()["server-ca"].certPem)
    }
    if (path === SUPERVISOR_PATHS.invitation) {
      expectMethod(req, "GET")
      if ((await joinerOf(req, notes)) !== "server")
        throw new ApiError("Forbidden", "this token is for agents and not for servers")
      return answer(res, 200, JSON_TYPE, await invite(req))
    }
    const asker = await authenticate(req, notes)
    if (path === SUPERVISOR_PATHS.config) {
      expectMethod(req, "GET")
      const whole: AgentConfig = {
        ...config,
        clientCa: authorities()["client-ca"].certPem,
        servers: [...(await servers())],
      }
      return answer(res, 200, JSON_TYPE, JSON.stringify(whole))
    }
    if (!path.startsWith(SUPERVISOR_PATHS.certificates)) throw new ApiError("NotFound", "404 page not found")
    expectMethod(req, "POST")
    answer(res, 200, PEM, await certify(req, asker, path.slice(SUPERVISOR_PATHS.certificates.length), notes))
  }

  async function invite(req: ServerRequest): Promise<string> {
    if (options.invite === undefined)
      throw new ApiError(
        "BadRequest",
        "no server can join here: this one keeps its data in its own database, or in a store that --datastore-endpoint " +
          "names. Start it with --cluster-init, or give the new server the same --datastore-endpoint",
      )
    log.info("Let a server join", { address: remoteAddress(req) })
    return options.invite()
  }

  async function authenticate(req: ServerRequest, notes: RequestNotes | undefined): Promise<Asker> {
    const member = memberOf(req)
    if (member !== undefined) {
      await passwords.verifyLasts(member)
      notes?.sender(userOf(member))
      return member
    }
    await joinerOf(req, notes)
    return "joining"
  }

  /** Resolves to as what the token of a request joins. @throws ApiError where it shows none that is valid */
  async function joinerOf(req: ServerRequest, notes: RequestNotes | undefined): Promise<JoinsAs> {
    const address = remoteAddress(req) ?? ""
    refuseWhileWaiting(failed, address, "too many wrong tokens from this address")
    const credential = credentialOfHeader(req.headers.authorization)
    const joinsAs = credential === undefined ? undefined : await tokens.verify(credential)
    // Many requests at once must not try more tokens than one after the other.
    refuseWhileWaiting(failed, address, "too many wrong tokens from this address")
    if (joinsAs !== undefined) {
      notes?.sender(holderOf(credential!))
      return joinsAs
    }
    failed.add(address)
    log.warn("Refused a machine that showed no valid token", { address })
    throw new ApiError("Unauthorized", "the token is not valid: it is wrong, has expired or has been rotated")
  }

  /** Counts a name that is taken. @throws ApiError where its address has taken as many as it may */
  function takeName(req: ServerRequest): void {
    const address = remoteAddress(req) ?? ""
    refuseWhileWaiting(newNames, address, "too many new nodes from this address")
    newNames.add(address)
  }

  /** The membership of a kubelet's client certificate. */
  function memberOf(req: ServerRequest): NodeMembership | undefined {
    const peer = peerCertificate(req)
    if (peer === undefined || !peer.commonName.startsWith(NODE_USER)) return undefined
    const { raw, intermediates, commonName } = peer
    const ca = files().pki.authorities["client-ca"].certPem
    if (!verifyCertificate(raw, ca, { now: clock.now(), intermediates }).ok) return undefined
    const membership = membershipIn(raw)
    return membership?.node === commonName.slice(NODE_USER.length) ? membership : undefined
  }

  async function certify(
    req: ServerRequest,
    asker: Asker,
    kind: string,
    notes: RequestNotes | undefined,
  ): Promise<string> {
    notes?.annotate("k3ts.io/certificate", kind.slice(0, LONGEST_NOTE))
    notes?.annotate("k3ts.io/node", headerOf(req, NODE_HEADERS.name).slice(0, LONGEST_NOTE))
    const node = headerOf(req, NODE_HEADERS.name)
    if (isDNS1123Subdomain(node) !== undefined)
      throw new ApiError("BadRequest", `${NODE_HEADERS.name} ${quoted(node)} is not a node name`)
    const subject = kind === SERVING ? kubelet(node) : options.subjectOf(kind, node)
    if (subject === undefined) throw new ApiError("NotFound", `there is no certificate ${quoted(kind)}`)
    const addresses = kind === SERVING ? await addressesOf(req, node) : []
    const { publicKey } = requestOf(await readText(req, MOST_BODY_BYTES))
    const problem = asker === "joining" ? nodeNameProblem(node, config.clusterDomain) : undefined
    if (problem !== undefined)
      throw new ApiError("Forbidden", `no node can have the name ${node}: ${problem}; choose another by --node-name`)
    if (asker !== "joining" && asker.node !== node)
      throw new ApiError("Forbidden", `the node ${asker.node} gets no certificate of the node ${node}`)
    const membership = asker === "joining" ? await passwords.verify(node, passwordOf(req), () => takeName(req)) : asker
    const fields = { node, kind, address: remoteAddress(req) }
    if (kind === "kubelet") log.info("Let a machine join", fields)
    else log.debug("Signed a certificate", fields)
    return files().pki.certify(
      kind === SERVING
        ? { authority: "server-ca", subject, dnsNames: [node], ipAddresses: addresses }
        : { authority: "client-ca", subject, uris: [membershipUri(membership)] },
      publicKey,
    )
  }

  /**
   * Returns the addresses for which a kubelet wants a serving certificate. The addresses and names of API servers are
   * refused: their certificates are signed by the same CA, so with such a certificate the node could pose as an API
   * server.
   */
  async function addressesOf(req: ServerRequest, node: string): Promise<readonly string[]> {
    const asked = headerOf(req, NODE_HEADERS.addresses).split(",")
    const addresses = asked.flatMap((address) => {
      const parsed = parseAddress(address)
      // Go's clients take ::ffff:192.0.2.1 in a certificate for 192.0.2.1, which may be that of an API server.
      return parsed === undefined || isMapped(address) ? [] : [addressText(parsed)]
    })
    if (asked.length > 2 || addresses.length < asked.length)
      throw new ApiError("BadRequest", `${NODE_HEADERS.addresses} must be one address, or one of each family`)
    const serving = new X509Certificate(files().serving.certPem)
    const others = new Set([...(await servers()).map((server) => hostOf(server)), ...(await namesOfServers())])
    const clusterIps = config.serviceCidrs.flatMap((cidr) => parseNetwork(cidr) ?? [])
    const isServers = (address: string) =>
      serving.checkIP(address) !== undefined ||
      others.has(address) ||
      clusterIps.some((network) => contains(network, parseAddress(address)!))
    const hasName = serving.checkHost(node) !== undefined || others.has(node)
    const foreign = addresses.find(isServers) ?? (hasName ? node : undefined)
    if (foreign !== undefined)
      throw new ApiError(
        "Forbidden",
        `${foreign} is a name or an address of the API server, or a cluster IP, which no node's certificate can have`,
      )
    return addresses
  }

  /** Returns the API servers that serve now, from the endpoints of the Service `kubernetes`. */
  async function servers(): Promise<readonly string[]> {
    try {
      const slice = await client.get(EndpointSlice, { namespace: "default", name: "kubernetes" })
      return serversIn(slice)
    } catch (err) {
      if (isNotFound(err)) return []
      throw err
    }
  }

  /** Returns the names and addresses in the certificates of all servers that share the store. */
  async function namesOfServers(): Promise<readonly string[]> {
    const labelSelector = Object.entries(SERVER_LEASE_LABELS)
      .map(([name, value]) => `${name}=${value}`)
      .join()
    const { items } = await client.list(Lease, { namespace: SERVER_LEASE_NAMESPACE, labelSelector })
    return items.flatMap(servingNamesOf)
  }

  async function tunnel(
    req: ServerRequest,
    socket: Duplex,
    head: Buffer,
    notes: RequestNotes | undefined,
  ): Promise<void> {
    const refuse = (reason: "Unauthorized" | "BadRequest" | "NotFound", message: string) => {
      const error = new ApiError(reason, message)
      notes?.refused(error)
      refuseUpgrade(socket, error.code, message)
    }
    const member = memberOf(req)
    if (member === undefined) return refuse("Unauthorized", "only a node that has joined opens a tunnel")
    notes?.sender(userOf(member))
    if (req.headers.upgrade !== TUNNEL_PROTOCOL)
      return refuse("BadRequest", `a tunnel needs the header Upgrade: ${TUNNEL_PROTOCOL}`)
    const path = req.url ?? ""
    const { node } = member
    if (path === SUPERVISOR_PATHS.tunnel) await passwords.verifyLasts(member)
    else if (!options.tunnels.awaits(node, idOf(path)))
      return refuse("NotFound", "no request waits for this connection")
    notes?.upgraded()
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${TUNNEL_PROTOCOL}\r\n\r\n`)
    if (path === SUPERVISOR_PATHS.tunnel) return options.tunnels.open(node, socket, head)
    if (!options.tunnels.connected(node, idOf(path), socket, head)) socket.destroy()
  }

  function fail(res: ServerAnswer, err: unknown, notes: RequestNotes | undefined): void {
    const error = ApiError.from(err)
    notes?.refused(error)
    if (res.headersSent) return void res.destroy()
    const { code, message, details } = error
    const wait = details?.retryAfterSeconds
    answer(res, code, wait === undefined ? TEXT : { ...TEXT, "Retry-After": String(wait) }, `${message}\n`)
  }

  return {
    onRequest(req, res, notes) {
      serve(req, res, req.url ?? "", notes)
        .catch((err: unknown) => fail(res, err, notes))
        .then(() => stopReceiving(req, res))
        .catch(() => void res.destroy())
    },
    onUpgrade(req, socket, head, notes) {
      socket.on("error", () => socket.destroy())
      tunnel(req, socket, head, notes).catch((err: unknown) => {
        const error = ApiError.from(err)
        notes?.refused(error)
        const { code, message } = error
        refuseUpgrade(socket, code, message)
      })
    },
  }
}

/** Returns the host of `host:port`; an IPv6 address loses its brackets. */
const hostOf = (server: string): string => new URL(`https://${server}`).hostname.replace(/^\[|\]$/g, "")

const idOf = (path: string): string => path.slice(SUPERVISOR_PATHS.tunnel.length + 1)

const PEM = { "Content-Type": "text/plain; charset=utf-8" }
const TEXT = { ...PEM, "X-Content-Type-Options": "nosniff" }
const JSON_TYPE = { "Content-Type": "application/json" }

const kubelet = (node: string): Subject => ({ commonName: `${NODE_USER}${node}`, organizations: ["system:nodes"] })

const ANONYMOUS = { name: "system:anonymous", groups: ["system:unauthenticated"] }
const AUTHENTICATED = "system:authenticated"
/** The most characters of a text in a note. */
const LONGEST_NOTE = 253

const userOf = ({ node }: NodeMembership) => ({ name: `${NODE_USER}${node}`, groups: ["system:nodes", AUTHENTICATED] })

/** The name of who holds a token; its secret is not part of it. */
const holderOf = (credential: JoinCredential) =>
  "user" in credential
    ? { name: `k3ts:join-token:${credential.user}`, groups: [AUTHENTICATED] }
    : {
        name: `system:bootstrap:${credential.bootstrapToken.id}`,
        groups: ["system:bootstrappers", AUTHENTICATED],
      }

const quoted = (text: string): string => JSON.stringify(text.slice(0, 100))

function refuseWhileWaiting(attempts: Attempts, address: string, why: string): void {
  const wait = attempts.waitOf(address)
  if (wait > 0) throw new ApiError("TooManyRequests", why, { retryAfterSeconds: wait })
}

function expectMethod({ method }: ServerRequest, expected: string): void {
  if (method !== expected) throw new ApiError("MethodNotAllowed", `the method must be ${expected}`)
}

function headerOf({ headers }: ServerRequest, name: string): string {
  const found = headers[name]
  return typeof found === "string" ? found : ""
}

function passwordOf(req: ServerRequest): string {
  const password = headerOf(req, NODE_HEADERS.password)
  if (password.length >= 16 && password.length <= MOST_PASSWORD) return password
  throw new ApiError("BadRequest", `${NODE_HEADERS.password} must have 16 to ${MOST_PASSWORD} characters`)
}

function requestOf(pem: string) {
  try {
    return readCertificateRequest(pem)
  } catch (err) {
    if (err instanceof CertificateRequestError) throw new ApiError("BadRequest", err.message)
    throw err
  }
}
