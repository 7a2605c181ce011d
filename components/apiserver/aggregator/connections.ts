import type { ClientRequest, OutgoingHttpHeaders } from "node:http"
import { Agent, request } from "node:https"
import type { CertificatePair } from "../../../pkg/pki/certificate.ts"
import { trustingBundle } from "../../../pkg/pki/trust.ts"
import type { ObjectReader } from "../cacher/objects.ts"
import type { Tracing } from "../../../pkg/tracing/tracing.ts"
import { joinHostPort } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { serviceAddress, type ServiceAddress } from "../proxy/service-address.ts"
import type { RemoteService } from "./api-services.ts"

/** A request to the server of an APIService. */
export interface OutgoingRequest {
  readonly method: string
  /** The path with its query, as the client sent it. */
  readonly path: string
  readonly headers: OutgoingHttpHeaders
  /** Uses a connection of its own, which switches protocols. */
  readonly upgrade?: true
}

/** Why no request can be sent to the server of an APIService, and the HTTP code for the client. */
export class UnreachableServer extends Error {
  readonly code: 500 | 503
  constructor(message: string, code: 500 | 503) {
    super(message)
    this.code = code
  }
}

/** Idle connections per server; Go keeps two. */
const MOST_IDLE_SOCKETS = 8

interface ServerConnections {
  readonly spec: RemoteService["spec"]
  readonly proof: CertificatePair
  readonly agent: Agent
}

/**
 * Opens connections to the servers of APIServices and keeps them between requests. This server identifies itself by its
 * front-proxy certificate, which allows it to name the user of a request in headers. Source: kube-aggregator
 * pkg/controllers/status/remote BuildTransportConfig.
 */
export class ExtensionConnections {
  readonly #objects: ObjectReader
  readonly #frontProxy: () => CertificatePair
  readonly #tracing: Tracing | undefined
  readonly #known = new Map<string, ServerConnections>()

  /**
   * `frontProxy` returns the current certificate, which is renewed while the server runs. `tracing` tells the servers
   * the span of each request.
   */
  constructor(objects: ObjectReader, frontProxy: () => CertificatePair, tracing?: Tracing) {
    this.#tracing = tracing
    this.#objects = objects
    this.#frontProxy = frontProxy
  }

  /** Returns the address of an APIService's server. @throws UnreachableServer */
  addressOf({ spec: { service } }: RemoteService): ServiceAddress {
    const { namespace = "", name = "", port } = service
    const address = serviceAddress({ namespace, name, port }, this.#objects)
    if (typeof address === "string") throw new UnreachableServer(address, 503)
    return address
  }

  /** Opens a request, to which the caller writes the body and calls `end`. @throws UnreachableServer */
  open(service: RemoteService, { method, path, headers, upgrade }: OutgoingRequest): ClientRequest {
    const { host, port } = this.addressOf(service)
    const traceparent = this.#tracing?.traceparent()
    const own = { host: joinHostPort(host, port), ...(traceparent === undefined ? {} : { traceparent }) }
    const options = { host, port, method, path, headers: { ...headers, ...own } }
    try {
      return upgrade === true
        ? request({ ...options, ...this.#tls(service), agent: false })
        : request({ ...options, servername: serverName(service), agent: this.#agent(service) })
    } catch (err) {
      // A header of the client, or its user name, has characters that are not allowed in a request.
      if ((err as NodeJS.ErrnoException).code === "ERR_BORINGSSL")
        throw new UnreachableServer("unable to load root certificates: unable to parse bytes as PEM block", 500)
      throw new UnreachableServer(`error trying to reach service: ${(err as Error).message}`, 503)
    }
  }

  /**
   * Closes idle connections to the server of an APIService that was deleted or changed; requests in progress continue.
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
      ...(insecureSkipTLSVerify ? { rejectUnauthorized: false } : trustingBundle(caBundle)),
    }
  }
}

/** Closes idle connections now, and the others when their requests end; `agent.destroy()` would abort the requests. */
function retire(agent: Agent): void {
  agent.maxFreeSockets = 0
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
}

/** The server name that the certificate of the extension server must have. */
const serverName = ({ spec: { service } }: RemoteService): string => `${service.name}.${service.namespace}.svc`
