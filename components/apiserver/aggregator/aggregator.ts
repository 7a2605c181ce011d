/**
 * The aggregator: versions of API groups that other servers have, as APIServices say. Requests for them are passed on
 * (proxy.ts), what they have is shown in discovery (discovery.ts), and each APIService says whether its server can be
 * had (availability.ts). Source: kube-aggregator pkg/apiserver/apiserver.go.
 */
import type { Scheme } from "../../../pkg/api/scheme.ts"
import type { Client } from "../../../pkg/client/client.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"
import type { CertificatePair } from "../../../pkg/pki/certificate.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import type { Objects } from "../cacher/objects.ts"
import type { Exchange } from "../http/exchange.ts"
import type { RequestInfo } from "../http/request-info.ts"
import type { UserInfo } from "../request.ts"
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
  readonly metrics?: Registry | undefined
  /** The certificate by which servers behind APIServices know this server, as it is now. */
  readonly frontProxy: () => CertificatePair
  /** Is told of the kinds of other servers. */
  readonly kinds: RemoteKinds
  /** Functions that stand for such servers. */
  readonly functions: FindExtensionServer
  /** Those of them that are part of this process. */
  readonly isOwn: FindExtensionServer
}

export interface Aggregator {
  /** Which groups there are, and a number that rises when that changes. */
  listed(): { readonly generation: number; readonly groups: ListedGroups }
  /** The APIService whose server answers a request; undefined where this server does. */
  remoteOf(info: RequestInfo): RemoteService | undefined
  readonly openApi: RemoteOpenApi
  /** Whether the server behind an APIService says that it has the resource that a path names. */
  hasResource(info: RequestInfo, service: RemoteService): boolean
  /** The way of this process's components to kinds of other servers. */
  transportFor: RemoteWay
  /** Passes a request on that may be made. */
  serve(exchange: Exchange, info: RequestInfo, user: UserInfo, service: RemoteService): Promise<void>
  /** Asks the server behind an APIService for something of this server's own. */
  readonly ask: Ask
  close(): void
}

export function createAggregator(options: AggregatorOptions): Aggregator {
  const { storage, objects, clock, functions } = options
  const services = new ApiServices(storage)
  const connections = new ExtensionConnections(objects, options.frontProxy)
  const ask = createAsk({ connections, functions, clock })
  const discovery = new RemoteDiscovery(ask, clock, options.kinds)
  const stops = [
    keepRegistered({ ...options, services }),
    keepAvailability({
      ...options,
      services,
      connections,
      ask,
      discovery,
      metrics: aggregatorMetrics(options.metrics),
    }),
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
    close: () => stops.forEach((stop) => stop()),
  }
}

/** `<group>/<version>` of a request below `/apis/<group>/<version>`; all below `/api` is `/v1`. */
function groupVersionOf({ isResource, group, version, path }: RequestInfo): string {
  if (isResource) return group === "" ? "/v1" : `${group}/${version}`
  const [, root, first, second] = path.split("/")
  if (root === "api") return "/v1"
  return root === "apis" && second !== undefined && second !== "" ? `${first}/${second}` : ""
}
