import type { ClientRequest, OutgoingHttpHeaders } from "node:http"
import { Agent, request } from "node:https"
import { rootCertificates } from "node:tls"
import type { CertificatePair } from "../../../pkg/pki/certificate.ts"
import type { ObjectReader } from "../cacher/objects.ts"
import { joinHostPort } from "../../../pkg/apimachinery/cidr.ts"
import { serviceAddress, type ServiceAddress } from "../endpoints/service-address.ts"
import type { RemoteService } from "./api-services.ts"

/** A request to the server behind an APIService. */
export interface OutgoingRequest {
  readonly method: string
  /** With its query, as it came. */
  readonly path: string
  readonly headers: OutgoingHttpHeaders
  /** On a connection of its own, which leaves HTTP. */
  readonly upgrade?: true
}

/** Why no request can go to the server behind an APIService, and with which code a client is told. */
export class UnreachableServer extends Error {
  readonly code: 500 | 503
  constructor(message: string, code: 500 | 503) {
    super(message)
    this.code = code
  }
}

/** Of idle connections to one server; Go keeps two for each. */
const MOST_IDLE_SOCKETS = 8

interface KnownServer {
  readonly spec: RemoteService["spec"]
  readonly proof: CertificatePair
  readonly agent: Agent
}

/**
 * Opens connections to the servers behind APIServices and keeps them between requests. This server proves itself by
 * the certificate of a front proxy, which lets it say on whose behalf it asks. Source: kube-aggregator
 * pkg/controllers/status/remote BuildTransportConfig.
 */
export class ExtensionConnections {
  readonly #objects: ObjectReader
  readonly #frontProxy: () => CertificatePair
  readonly #known = new Map<string, KnownServer>()

  /** `frontProxy` gives the certificate as it is now: it is renewed while the server runs. */
  constructor(objects: ObjectReader, frontProxy: () => CertificatePair) {
    this.#objects = objects
    this.#frontProxy = frontProxy
  }

  /** Where the server behind an APIService is. @throws UnreachableServer */
  addressOf({ spec: { service } }: RemoteService): ServiceAddress {
    const { namespace = "", name = "", port } = service
    const address = serviceAddress({ namespace, name, port }, this.#objects)
    if (typeof address === "string") throw new UnreachableServer(address, 503)
    return address
  }

  /** Begins a request; the caller ends it. @throws UnreachableServer */
  open(service: RemoteService, { method, path, headers, upgrade }: OutgoingRequest): ClientRequest {
    const { host, port } = this.addressOf(service)
    const options = { host, port, method, path, headers: { ...headers, host: joinHostPort(host, port) } }
    try {
      return upgrade === true
        ? request({ ...options, ...this.#tls(service), agent: false })
        : request({ ...options, servername: serverName(service), agent: this.#agent(service) })
    } catch (err) {
      // A header of the client, or the name of its user, that cannot stand in a request.
      if ((err as NodeJS.ErrnoException).code === "ERR_BORINGSSL")
        throw new UnreachableServer("unable to load root certificates: unable to parse bytes as PEM block", 500)
      throw new UnreachableServer(`error trying to reach service: ${(err as Error).message}`, 503)
    }
  }

  /**
   * Closes idle connections to the server of an APIService that is gone or has changed; requests under way end well.
   */
  forget(name: string): void {
    const agent = this.#known.get(name)?.agent
    if (agent !== undefined) retire(agent)
    this.#known.delete(name)
  }

  close(): void {
    for (const { agent } of this.#known.values()) agent.destroy()
    this.#known.clear()
  }

  #agent(service: RemoteService): Agent {
    const { name = "" } = service.metadata
    const proof = this.#frontProxy()
    const known = this.#known.get(name)
    if (known !== undefined && known.spec === service.spec && known.proof === proof) return known.agent
    this.forget(name)
    const agent = new Agent({ keepAlive: true, maxFreeSockets: MOST_IDLE_SOCKETS, ...this.#tls(service) })
    this.#known.set(name, { spec: service.spec, proof, agent })
    return agent
  }

  #tls(service: RemoteService) {
    const { insecureSkipTLSVerify = false, caBundle = "" } = service.spec
    const proof = this.#frontProxy()
    return {
      cert: proof.certPem,
      key: proof.keyPem,
      servername: serverName(service),
      ...(insecureSkipTLSVerify
        ? { rejectUnauthorized: false }
        : { ca: caBundle === "" ? [...rootCertificates] : Buffer.from(caBundle, "base64").toString() }),
    }
  }
}

/** Closes idle connections, and the others when their requests have ended: `agent.destroy()` would break these off. */
function retire(agent: Agent): void {
  agent.maxFreeSockets = 0
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
}

/** What the server's certificate has to be for. */
const serverName = ({ spec: { service } }: RemoteService): string => `${service.name}.${service.namespace}.svc`
