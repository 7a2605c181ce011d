import { familyOf } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { KubeObject, Resource } from "../../pkg/apimachinery/resource.ts"
import type { Transport } from "../../pkg/client/client.ts"
import { loaded, timestamp, type Clock } from "../../pkg/clock/clock.ts"
import type { Random } from "../../pkg/clock/random.ts"
import type { TokenIssuer } from "../../pkg/jwt/service-account.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { Quarantine } from "../../pkg/quarantine/quarantine.ts"
import type { Tracing } from "../../pkg/tracing/tracing.ts"
import type { Storage } from "../../pkg/storage/storage.ts"
import { DEFAULT_FEATURES, type Features } from "../../pkg/component/features.ts"
import type { Scheme } from "../../pkg/api/scheme.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import type { CertificatePair } from "../../pkg/pki/certificate.ts"
import type { Admission } from "./admission/admission.ts"
import type { AdmissionOptions } from "./admission/admission-settings.ts"
import type { TolerationSeconds } from "./admission/plugins/defaulttolerationseconds.ts"
import { defaultChain } from "./admission/chain.ts"
import { matchConditionMetrics } from "./admission/policies/match-condition-metrics.ts"
import { policyMetrics } from "./admission/policies/metrics.ts"
import { httpsCaller } from "./webhooks/https-caller.ts"
import { admissionMetrics } from "./admission/admission-metrics.ts"
import { registerStorageMetrics } from "./cacher/storage-metrics.ts"
import { webhookMetrics } from "./admission/webhooks/metrics.ts"
import type { WebhookCaller } from "./webhooks/webhook-caller.ts"
import { createAggregator, type Aggregator } from "./aggregator/aggregator.ts"
import { RemoteKinds } from "./aggregator/remote-kinds.ts"
import { ownApiService } from "./aggregator/own-api-service.ts"
import { withOwnExtensions, type FindExtensionServer, type OwnExtension } from "./aggregator/extension-server.ts"
import { keepAuthenticationConfig } from "./authentication/authentication-config.ts"
import { keepAggregated } from "./authorization/aggregation.ts"
import type { Authorizer } from "./authorization/authorizer.ts"
import type { ConfiguredAuthorization } from "./authorization/configured-authorization.ts"
import { authorizerChain } from "./authorization/chain.ts"
import { nodeRules } from "./authorization/bootstrap-cluster-roles.ts"
import { gatedRoles } from "./authorization/bootstrap-gated-roles.ts"
import { NodeAuthorizer } from "./authorization/node.ts"
import { RbacAuthorizer } from "./authorization/rbac.ts"
import { bootstrap } from "./bootstrap.ts"
import { ClientHistory } from "./cacher/client-history.ts"
import { Objects } from "./cacher/objects.ts"
import { startUpkeep } from "./cacher/upkeep.ts"
import { WatchHub } from "./cacher/watch-hub.ts"
import { createFlowMetrics } from "./flowcontrol/flow-metrics.ts"
import { FlowControl } from "./flowcontrol/flow-control.ts"
import { LeftOutEvents } from "./left-out-events.ts"
import { keepLiveServers } from "./live-servers.ts"
import { keepFlowConfig } from "./flowcontrol/config/keep-config.ts"
import { listSeats } from "./flowcontrol/seats/list-seats.ts"
import { DEFAULT_LIMITS, type InFlightLimits } from "./flowcontrol/max-in-flight.ts"
import { TemplateSharing } from "./registry/template-sharing.ts"
import { notRunning } from "./not-running.ts"
import { createPipeline } from "./pipeline.ts"
import type { RegistryContext } from "./registry/context.ts"
import { customHooks } from "./registry/apiextensions/definition.ts"
import { startFinalizer } from "./apiextensions/finalizer.ts"
import { conversionMetrics } from "./apiextensions/conversion/metrics.ts"
import { webhookConverter } from "./apiextensions/conversion/webhook-converter.ts"
import { Registrar } from "./apiextensions/registrar.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import { keepAddresses } from "./registry/core/service/ip-address.ts"
import { createHooks } from "./registry/hooks.ts"
import type { TokenLife } from "./registry/core/serviceaccount/token.ts"
import type { ReviewToken } from "./registry/reviews/identity.ts"
import { OWN_USER } from "./call/own-user.ts"
import type { Actor, Pipeline } from "./call/request.ts"
import { tracedAdmission } from "./tracing/traced-admission.ts"
import { tracedPipeline } from "./tracing/traced-pipeline.ts"
import { TracedStorage } from "./tracing/traced-storage.ts"
import { inProcessTransport } from "./transport.ts"

export interface ApiCoreOptions {
  readonly storage: Storage
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly tracing?: Tracing | undefined
  /** Notes definitions and policies that are worked on, and says which must be skipped. */
  readonly quarantine?: Quarantine | undefined
  /** The kinds that are served. Custom kinds are added to it. */
  readonly scheme: Scheme
  /** The registry of the admission metrics; no metrics unless given. */
  readonly metrics?: Registry
  /** The file of the store, whose size is shown; undefined where there is none. */
  readonly databaseFile?: string | undefined
  /** Replaces the way webhooks are called, which is over HTTPS. */
  readonly webhooks?: (overHttps: WebhookCaller) => WebhookCaller
  /** Functions that replace the servers of Services that APIServices name; none unless given. */
  readonly extensionServers?: FindExtensionServer
  /** Is told of the kinds that extension API servers serve. */
  readonly remoteKinds?: RemoteKinds
  /**
   * Returns the front-proxy certificate by which extension API servers recognize this server. Called at the first
   * connection to one.
   */
  readonly frontProxy: () => CertificatePair
  /** Most requests served at once; upstream's 400 reads and 200 writes unless given. */
  readonly maxInFlight?: InFlightLimits
  /** False turns priority and fairness off. */
  readonly priorityAndFairness?: boolean
  /** The range of Service addresses, such as 10.43.0.0/16, or one of each family with the primary one first. */
  readonly serviceCidrs: readonly string[]
  readonly nodePorts: { readonly first: number; readonly last: number }
  readonly advertiseAddress: string
  readonly port: number
  /** Returns the names and addresses of the server's certificate, which other servers let no node have. */
  readonly servingNames?: () => readonly string[]
  /** Who decides about requests; nodes' own rights and RBAC unless given. */
  readonly authorization?: ConfiguredAuthorization | undefined
  readonly clientCaPem?: string
  readonly frontProxyCaPem?: string
  readonly localStorage?: boolean
  readonly ingress?: boolean
  readonly gateway?: boolean
  /** See BootstrapOptions. */
  readonly helm?: boolean
  readonly addons?: boolean
  readonly ownExtensions?: readonly OwnExtension[]
  readonly tokenIssuer: TokenIssuer
  /** Audiences of a service account token whose request names none. */
  readonly apiAudiences: readonly string[]
  /** How long service account tokens live; as asked for unless given. */
  readonly tokenLife?: TokenLife | undefined
  readonly reviewToken: ReviewToken
  /** Returns the health of the components as ComponentStatus objects; none unless given. */
  readonly componentStatuses?: () => readonly KubeObject[]
  /** Names of the admission plugins that are off. */
  readonly disabledAdmission?: ReadonlySet<string> | undefined
  /** Which admission plugins are on, and what they are told; those of Kubernetes unless given. */
  readonly admission?: AdmissionOptions | undefined
  /** How long pods stay on nodes that have failed; five minutes unless given. */
  readonly tolerationSeconds?: TolerationSeconds | undefined
  /** Feature gates; all on unless given. */
  readonly features?: Features
  /** Wraps the pipeline for calls of the server itself, so that they have audit events. */
  readonly audited?: (pipeline: Pipeline) => Pipeline
  /** How long history is kept, in milliseconds; an hour unless given, and only what watches need with 0. */
  readonly historyMs?: number
  /** How long Events are kept, in seconds; an hour unless given, and for ever if zero. */
  readonly eventSeconds?: number | undefined
}

/** The API server without HTTP: everything behind the codec. */
export interface ApiCore {
  /** What the verbs of the registry work with. */
  readonly registry: RegistryContext
  readonly pipeline: Pipeline
  readonly hub: WatchHub
  readonly objects: Objects
  readonly authorizer: Authorizer
  readonly admission: Admission
  readonly aggregator: Aggregator
  /** Undefined without priority and fairness. */
  readonly flow: FlowControl | undefined
  transportFor(user: Actor): Transport
  /** Tells the other servers that this one ends, where several share the store. Never rejects. */
  leave(): Promise<void>
  /** Ends the watches, and refuses others: the server is stopping. */
  endWatches(): void
  /** Ends the watches and the upkeep. The store stays open: its owner closes it. Never rejects. */
  close(): Promise<void>
  /** Refuses all requests from now on, those that are under way too. */
  refuseAll(): void
}

const HOUR_MS = 3_600_000
/**
 * How long the log is kept for watches that resume and lists that continue, which is all of it where the history is
 * off, or servers share the store. Upstream compacts etcd after five to ten minutes.
 */
const WATCH_HISTORY_MS = 10 * 60_000

const keptHistoryMs = ({ freshen }: Storage, historyMs: number): number =>
  freshen === undefined && historyMs > 0 ? historyMs : Math.min(historyMs || Infinity, WATCH_HISTORY_MS)

/** Creates the objects that every cluster starts with, in one transaction, and connects the stages of a request. */
export async function startApiCore(options: ApiCoreOptions): Promise<ApiCore> {
  const {
    tracing,
    clock,
    random,
    log,
    scheme,
    metrics = new Registry(),
    maxInFlight = DEFAULT_LIMITS,
    priorityAndFairness = true,
    nodePorts,
    tokenIssuer,
    apiAudiences,
    reviewToken,
    componentStatuses = () => [],
    historyMs = HOUR_MS,
    features = DEFAULT_FEATURES,
    eventSeconds,
  } = options
  await bootstrap(options)
  const tracedStorage = tracing === undefined ? undefined : new TracedStorage(options.storage, tracing)
  const storage = tracedStorage ?? options.storage
  const history = new ClientHistory({ storage, clock })
  const objects = new Objects(storage)
  const overHttps = httpsCaller({ objects, clock, tracing })
  const caller = options.webhooks?.(overHttps) ?? overHttps
  const converting = { caller, clock, random, tracing, metrics: conversionMetrics(metrics) }
  const leftOut = new LeftOutEvents()
  // The registrar comes before the watch hub, so that a watcher that sees a definition finds its kind served.
  const registrar = new Registrar({
    storage,
    scheme,
    clock,
    log,
    quarantine: options.quarantine,
    converterOf: (definition) => webhookConverter(definition, converting),
    changed: (resources) => resources.forEach((resource) => hub.endOf(resource)),
    leftOut: leftOut.tell,
  })
  const hub = new WatchHub({ storage, clock, log, history })
  const rbac = new RbacAuthorizer({ storage, objects })
  const node = new NodeAuthorizer({
    storage,
    objects,
    rules: [...nodeRules(), ...(gatedRoles(features)?.rules["system:node"] ?? [])],
  })
  const authorizer = options.authorization?.start({ node, rbac }) ?? authorizerChain([node, rbac])
  const builtinHooks = createHooks({
    storage,
    objects,
    scheme,
    clock,
    random,
    authorizer,
    rbac,
    nodePorts,
    serviceFamilies: options.serviceCidrs.map(familyOf),
    tokens: { ...options.tokenLife, issuer: tokenIssuer, audiences: apiAudiences },
    reviewToken,
    hasWebhooks: () => options.authorization?.hasWebhooks === true,
    componentStatuses,
    registrar: () => registrar,
    features,
  })
  const custom = customHooks(() => registrar)
  const hooks = (resource: Resource) => custom(resource) ?? builtinHooks(resource)
  const conditions = matchConditionMetrics(metrics)
  const webhooks = {
    caller,
    conditions,
    metrics: webhookMetrics(metrics),
    scheme,
    log,
    tracing,
  }
  const ending = new AbortController()
  const { quarantine } = options
  const { signal } = ending
  const admitting = { objects, storage, clock, random, log, quarantine, authorizer, leftOut: leftOut.tell, signal }
  const settings =
    options.admission === undefined
      ? { disabled: options.disabledAdmission }
      : (await loaded(clock, import("./admission/optional-plugins.ts"))).admissionSettings(options.admission, {
          ...admitting,
          scheme,
          tracing,
          client: () => ownClient,
        })
  const chain = defaultChain(
    admitting,
    webhooks,
    { scheme, conditions, metrics: policyMetrics(metrics) },
    { ...settings, tolerationSeconds: options.tolerationSeconds },
    features,
    options.metrics === undefined ? undefined : admissionMetrics(options.metrics, clock),
  )
  const admission = tracing === undefined ? chain : tracedAdmission(chain, tracing)
  const flow = priorityAndFairness
    ? new FlowControl({
        clock,
        metrics: createFlowMetrics(metrics),
        serverSeats: maxInFlight.reads + maxInFlight.writes,
        seatsOf: listSeats({ scheme, storage, clock }),
      })
    : undefined
  let isOver = false
  const registry: RegistryContext = {
    checkRunning() {
      if (isOver) throw notRunning()
    },
    storage,
    hub,
    objects,
    history,
    clock,
    random,
    authorizer,
    admission,
    hooks,
    sharing: new TemplateSharing(),
    eventSeconds,
    features,
    flow,
  }
  const untraced = createPipeline(registry)
  const pipeline = tracing === undefined ? untraced : tracedPipeline(untraced, tracing)
  const entered = options.audited?.(pipeline) ?? pipeline
  const transportFor = (user: Actor): Transport =>
    inProcessTransport(entered, user, clock, {
      resourceOf: scheme.resource,
      remote: (as) => aggregator.transportFor(as),
    })
  const ownClient = newClient(transportFor(OWN_USER))
  leftOut.start({ client: ownClient, clock, log })
  // The first server begins to tell when all that follows is there.
  const live =
    storage.freshen === undefined
      ? undefined
      : keepLiveServers({
          storage,
          client: ownClient,
          clock,
          log,
          address: options.advertiseAddress,
          port: options.port,
          servingNames: options.servingNames ?? (() => []),
          becameFirst: () => aggregator.tellAvailability(),
        })
  const aggregator = createAggregator({
    storage,
    objects,
    scheme,
    client: ownClient,
    clock,
    random,
    log,
    metrics,
    frontProxy: options.frontProxy,
    tracing,
    kinds: options.remoteKinds ?? new RemoteKinds(),
    functions: withOwnExtensions(options.ownExtensions ?? [], options.extensionServers ?? (() => undefined)),
    own: (options.ownExtensions ?? []).map((own) => ownApiService(own, timestamp(clock))),
    tellsAvailability: () => live === undefined || live.isFirst,
  })
  const { databaseFile: file } = options
  const stops = [
    registerStorageMetrics(metrics, { storage, resources: () => scheme.resources, file }),
    () => aggregator.close(),
    keepAggregated({ storage, objects, clock, log }),
    keepAddresses({ storage, clock, random, log }),
    startUpkeep({
      storage,
      clock,
      log,
      resources: scheme.resources,
      eventSeconds,
      historyMs: keptHistoryMs(storage, historyMs),
    }),
    startFinalizer({ storage, scheme, client: ownClient, clock, log }),
    keepAuthenticationConfig({ ...options, client: ownClient }),
    keepFlowConfig({ storage, objects, client: ownClient, clock, log, flow }),
    () => flow?.close(),
    () => tracedStorage?.stopTracing(),
    () => registrar.close(),
    () => ending.abort(),
    () => options.authorization?.stop(),
  ]
  let left: Promise<void> | undefined
  const leave = () => (left ??= live?.leave() ?? Promise.resolve())
  return {
    registry,
    pipeline,
    hub,
    objects,
    authorizer,
    admission,
    aggregator,
    flow,
    transportFor,
    leave,
    endWatches: () => hub.close(),
    async close() {
      await leave()
      await leftOut.stop()
      stops.forEach((stop) => stop())
      hub.close()
    },
    refuseAll: () => void (isOver = true),
  }
}
