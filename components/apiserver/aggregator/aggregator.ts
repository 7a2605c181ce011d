/**
 * The aggregator: serves API groups that are implemented by other servers, as APIServices declare. It proxies their
 * requests (proxy.ts), adds their resources to discovery (discovery.ts), and reports in each APIService whether its
 * server is available (availability.ts). Source: kube-aggregator pkg/apiserver/apiserver.go.
 */
import type { APIService } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import type { Client } from "../../../pkg/client/client.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Tracing } from "../../../pkg/tracing/tracing.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"
import type { CertificatePair } from "../../../pkg/pki/certificate.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import type { Objects } from "../cacher/objects.ts"
import type { Exchange } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"
import type { UserInfo } from "../call/request.ts"
import type { RemoteWay } from "../transport.ts"
import { ApiServices, type RemoteService } from "./api-services.ts"
import { createAsk, type Ask } from "./ask.ts"
import { keepRegistered } from "./auto-registration.ts"
import { keepAvailability } from "./availability.ts"
import { ExtensionConnections } from "./connections.ts"
import { RemoteOpenApi } from "./openapi.ts"
import { RemoteDiscovery } from "./discovery.ts"
import type { FindExtensionServer } from "./extension-server.ts"
import { listedGroups, type ListedGroups } from "./groups.ts"
import { aggregatorMetrics } from "./metrics.ts"
import type { RemoteKinds } from "./remote-kinds.ts"
import { remoteTransport } from "./remote-transport.ts"
import { serveRemote } from "./proxy.ts"

export interface AggregatorOptions {
  readonly storage: Storage
  readonly objects: Objects
  readonly scheme: Scheme
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Tells extension servers the span of the request that they are asked for. */
  readonly tracing?: Tracing | undefined
  readonly metrics?: Registry | undefined
  /** Returns the current client certificate by which this server identifies itself to extension servers. */
  readonly frontProxy: () => CertificatePair
  /** Receives the kinds that extension servers have. */
  readonly kinds: RemoteKinds
  /** Functions that take the place of extension servers. */
  readonly functions: FindExtensionServer
  /** The APIServices of APIs of this process, which are not stored. */
  readonly own: readonly APIService[]
  /** Whether this server is the one that writes the conditions of APIServices, of several that share a store. */
  readonly tellsAvailability: () => boolean
}

export interface Aggregator {
  /** The groups that are served, and a number that rises when they change. */
  listed(): { readonly generation: number; readonly groups: ListedGroups }
  /** Returns the APIService whose server answers a request; undefined when this server does. */
  remoteOf(info: RequestInfo): RemoteService | undefined
  readonly openApi: RemoteOpenApi
  /** Whether the discovery of an APIService's server lists the resource that a path names. */
  hasResource(info: RequestInfo, service: RemoteService): boolean
  /** Returns the transport by which this process's components reach kinds of extension servers. */
  transportFor: RemoteWay
  /** Proxies an authorized request to the server of an APIService. */
  serve(exchange: Exchange, info: RequestInfo, user: UserInfo, service: RemoteService): Promise<void>
  /** Sends a request of this server's own to the server of an APIService. */
  readonly ask: Ask
  /** Checks all APIServices again, because this server now writes their conditions. */
  tellAvailability(): void
  close(): void
}

export function createAggregator(options: AggregatorOptions): Aggregator {
  const { storage, objects, clock, functions } = options
  const services = new ApiServices(storage, options.own)
  const connections = new ExtensionConnections(objects, options.frontProxy, options.tracing)
  const ask = createAsk({ connections, functions, clock })
  const discovery = new RemoteDiscovery(ask, clock, options.kinds)
  const kept = keepAvailability({
    ...options,
    services,
    connections,
    ask,
    discovery,
    metrics: aggregatorMetrics(options.metrics),
  })
  const stops = [
    keepRegistered({ ...options, services }),
    () => kept.stop(),
    () => services.close(),
    () => connections.close(),
  ]
  let listed: { readonly generation: number; readonly groups: ListedGroups } | undefined
  return {
    listed() {
      const generation = options.scheme.generation + services.generation + discovery.generation
      if (listed?.generation !== generation)
        listed = { generation, groups: listedGroups(options.scheme, services, discovery) }
      return listed
    },
    remoteOf: (info) => (services.remotes.size === 0 ? undefined : services.remotes.get(groupVersionOf(info))),
    openApi: new RemoteOpenApi(services, ask, clock),
    hasResource: ({ isResource, resource }, service) =>
      isResource && discovery.versionOf(service).resources.some((one) => one.resource === resource),
    transportFor: (user) =>
      remoteTransport({ remoteOf: (version) => services.remotes.get(version), connections, functions }, user),
    serve: (exchange, info, user, service) =>
      serveRemote(exchange, info, user, service, { connections, functions, clock }),
    ask,
    tellAvailability: () => kept.lookAgain(),
    close: () => stops.forEach((stop) => stop()),
  }
}

/** Returns `<group>/<version>` of a request below `/apis/<group>/<version>`; `/v1` for any request below `/api`. */
function groupVersionOf({ isResource, group, version, path }: RequestInfo): string {
  if (isResource) return group === "" ? "/v1" : `${group}/${version}`
  const [, root, first, second] = path.split("/")
  if (root === "api") return "/v1"
  return root === "apis" && second !== undefined && second !== "" ? `${first}/${second}` : ""
}
