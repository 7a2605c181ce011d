import { X509Certificate } from "node:crypto"
import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import type { BootstrapToken } from "../../pkg/api/core/v1/secret/bootstrap-token.ts"
import { builtinScheme, type Scheme } from "../../pkg/api/scheme.ts"
import { addressAt, familyOf, joinHostPort, parseNetwork } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { Transport } from "../../pkg/client/client.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import { loaded } from "../../pkg/clock/clock.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { createTokenIssuer, DEFAULT_ISSUER } from "../../pkg/jwt/service-account.ts"
import { registerFeatures } from "./endpoints/feature-metrics.ts"
import { registerProcessMetrics } from "../../pkg/metrics/process.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import type { Listener } from "../../pkg/runtime/http/listen.ts"
import type { Storage } from "../../pkg/storage/storage.ts"
import type { Aggregator } from "./aggregator/aggregator.ts"
import { askAggregated, type AskAggregated } from "./aggregator/in-process.ts"
import { RemoteKinds } from "./aggregator/remote-kinds.ts"
import { clusterImage, type ClusterImage } from "./cluster-image.ts"
import { auditedBeside } from "./audit/audited-beside.ts"
import { openedAudit } from "./audit/opened-audit.ts"
import { assembledAuthenticator } from "./authentication/assembled-authenticator.ts"
import { openedAuthorization } from "./authorization/opened-authorization.ts"
import { openedSignIn } from "./authentication/opened-sign-in.ts"
import { onMembershipEnd } from "./authentication/node-members.ts"
import { remoteKubelets } from "./kubelet-client/remote-kubelets.ts"
import { validBootstrapToken } from "./authentication/bootstrap-token.ts"
import { Objects } from "./cacher/objects.ts"
import { frontDoor } from "./front-door.ts"
import type { Health } from "./health/health.ts"
import { registerBuildInfo } from "./endpoints/version-info.ts"
import { componentStatuses } from "./health/component-statuses.ts"
import { apiServerHealth } from "./health/health-checks.ts"
import { createServerMetrics } from "./metrics.ts"
import type { Actor, Pipeline, UserInfo } from "./call/request.ts"
import { namesIn } from "../../pkg/api/coordination/v1/server-lease.ts"
import { startApiCore } from "./api-core.ts"
import { OWN_USER } from "./call/own-user.ts"
import { ownAddress } from "./serving/local-url.ts"
import type { ApiServerConfig } from "./apiserver-config.ts"
import type { BesideApi } from "./serving/beside.ts"
import { certificatesOf, listenOn, type ListenAt } from "./listener.ts"
import { writeKubeconfig } from "./write-kubeconfig.ts"
import { lateTransport } from "./late-transport.ts"
import { databaseFile } from "./store/database-file.ts"
import { openStorage } from "./store/open-storage.ts"
import type { OpenedStorage } from "./store/storage-config.ts"
import { keepCertificates } from "./serving/renewal.ts"
import { openedGivenCertificates, type GivenCertificates } from "./serving/given/opened-given-certificates.ts"
import type { Server } from "./server.ts"
import { notRunning } from "./not-running.ts"
import { stopServing } from "./stop-serving.ts"
import {
  clientAuthorities,
  defaultAdvertiseAddress,
  frontProxyCertificates,
  kubeletClientCertificates,
  openServingFiles,
  type ServingFiles,
} from "./serving/serving.ts"
import { inProcessTransport } from "./transport.ts"

export interface ApiServer extends Component {
  /**
   * Returns the transport by which components of this process call the API as `user`. Before `start` every call fails
   * with ServiceUnavailable.
   */
  transportFor(user: Actor): Transport
  /** Returns the function with which components of this process call extension API servers as `user`. */
  askAggregated(user: UserInfo): AskAggregated
  readonly scheme: Scheme
  /** The kinds of extension API servers, which are not in the scheme. */
  readonly remoteKinds: RemoteKinds
  readonly metrics: Registry
  /**
   * The checks of /livez and /readyz, by name. Other components add theirs; those of `scheduler` and
   * `controller-manager` are shown as ComponentStatus too.
   */
  readonly health: Health
  /** Certificates and tokens; undefined before `start`. */
  readonly files: ServingFiles | undefined
  /**
   * Resolves to the valid bootstrap token of a text, if it is one. One that was made through another server a moment
   * ago is known too, unless the store cannot be reached. @throws ApiError before `start`
   */
  bootstrapToken(text: string): Promise<BootstrapToken | undefined>
  /** The port of the server; undefined before `start` or without `listen`. */
  readonly port: number | undefined
  /** Returns the stored objects as they are now, for a snapshot. @throws ApiError before `start` */
  image(): ClusterImage
  /** Serves requests over HTTP of this process, without a socket. @throws ApiError before `start` */
  readonly server: Server
  /** Opens a port on a server that was started without one. Resolves to the port. */
  listen(at: ListenAt): Promise<number>
}

type Context = Pick<ComponentContext, "clock" | "random" | "log" | "tracing" | "quarantine">

/** What exists between `start` and `stop`. */
interface Running {
  readonly objects: Objects
  readonly pipeline: Pipeline
  readonly aggregator: Aggregator
  readonly server: Server
  listen(at: ApiServerConfig["listen"]): Promise<void>
  stop(): Promise<void>
}

export function createApiServer(context: Context, config: ApiServerConfig): ApiServer {
  const { clock, random, log } = context
  const tracing = context.tracing?.of("apiserver")
  const scheme = builtinScheme()
  const remoteKinds = new RemoteKinds()
  const metrics = config.metrics ?? new Registry()
  const serverMetrics = createServerMetrics(metrics)
  registerProcessMetrics(metrics, clock.now())
  registerBuildInfo(metrics)
  registerFeatures(metrics, config.features)
  let running: Running | undefined
  let store: Storage | undefined
  const health = apiServerHealth({
    storage: () => store,
    started: () => running !== undefined,
    startedAt: clock.now(),
  })
  /** The store while the server starts, to be closed if the start fails. */
  let opening: OpenedStorage | undefined
  let endKmsCheck = (): void => undefined
  let files: ServingFiles | undefined
  let listener: Listener | undefined
  let given: GivenCertificates | undefined

  function current(): Running {
    if (running === undefined) throw notRunning()
    return running
  }

  async function start(signal: AbortSignal): Promise<void> {
    const { optionalKinds = [] } = config
    if (optionalKinds.length > 0)
      (await loaded(clock, import("./optional-kinds.ts"))).serveOptionalKinds(scheme, optionalKinds)
    const dir = config.dataDir === undefined ? undefined : join(config.dataDir, "server")
    if (dir !== undefined) mkdirSync(dir, { recursive: true, mode: 0o700 })
    const advertiseAddress = config.advertiseAddress ?? defaultAdvertiseAddress(familyOf(config.serviceCidrs[0]!))
    // The store is opened before the first certificate is made, so that an interrupted start never leaves the files of
    // a cluster without its database.
    if (config.storage === undefined)
      opening = await openStorage(dir, { clock, random, log, registry: metrics }, config, signal)
    const stored = opening
    const storage = config.storage ?? stored!.storage
    store = storage
    if (stored?.kmsProblem !== undefined) endKmsCheck = health.add("kms-providers", stored.kmsProblem)
    const { serviceAccounts } = config
    const reopen = () =>
      openServingFiles({
        dir,
        advertiseAddress,
        tlsSans: [...(config.tlsSans ?? []), ...ownAddress(config.listen)],
        serviceAddresses: config.serviceCidrs.map((cidr) => addressAt(parseNetwork(cidr)!, 1)),
        clusterDomain: config.clusterDomain,
        now: () => clock.now(),
        random,
        further: config.furtherAuthorities,
        serviceAccounts,
      })
    await config.beforeFiles?.()
    const opened = config.files ?? reopen()
    files = opened
    // The port may be known only after listening has begun, and bootstrap objects contain it. Requests that come before
    // the bootstrap is complete get 503 with Retry-After.
    const serving: { server?: Server; beside: BesideApi | undefined } = { beside: config.beside }
    given = await openedGivenCertificates(config, { files: opened, clock, log })
    listener = await listenOn(config.listen, config, opened, serving, given?.choice)
    const port = listener?.port ?? 6443

    const frontProxy = frontProxyCertificates(() => clock.now())
    const keys = opened.verifyingKeys ?? [opened.signingKey]
    const issuers = config.issuers ?? [DEFAULT_ISSUER]
    const [issuer = DEFAULT_ISSUER] = issuers
    const objects = new Objects(storage)
    const apiAudiences = config.apiAudiences ?? issuers
    const { anonymous } = config
    const signIn = await openedSignIn(config.signIn, {
      ownIssuers: issuers,
      apiAudiences,
      anonymous,
      metrics,
      clock,
      random,
      log,
    })
    const authorization = await openedAuthorization(config.authorization, { metrics, clock, random, log })
    const authenticator = assembledAuthenticator({
      files: opened,
      keys,
      issuers,
      apiAudiences,
      signIn,
      anonymous,
      objects,
      clock,
      log,
      client: () => ownClient,
      expiresIn: (seconds) => serverMetrics.certificateExpiresIn(seconds),
    })
    const audit = await openedAudit(config.audit, { clock, random, log, scheme, metrics })
    const plane = await startApiCore({
      storage,
      clock,
      random,
      log,
      tracing,
      quarantine: context.quarantine,
      scheme,
      metrics,
      databaseFile: config.dataDir === undefined ? undefined : existing(databaseFile(config.dataDir)),
      ...(config.webhooks === undefined ? {} : { webhooks: config.webhooks }),
      ...(config.extensionServers === undefined ? {} : { extensionServers: config.extensionServers }),
      remoteKinds,
      frontProxy: () => frontProxy(files ?? opened),
      ...(config.maxInFlight === undefined ? {} : { maxInFlight: config.maxInFlight }),
      ...(config.priorityAndFairness === undefined ? {} : { priorityAndFairness: config.priorityAndFairness }),
      serviceCidrs: config.serviceCidrs,
      nodePorts: config.nodePorts,
      advertiseAddress,
      port,
      servingNames: () => namesIn(new X509Certificate((files ?? opened).serving.certPem).subjectAltName ?? ""),
      clientCaPem: clientAuthorities(opened),
      frontProxyCaPem: opened.pki.authorities["request-header-ca"].certPem,
      localStorage: config.localStorage === true,
      ingress: config.ingress === true,
      gateway: config.gateway === true,
      helm: config.helm === true,
      addons: config.addons === true,
      ...(config.ownExtensions === undefined ? {} : { ownExtensions: config.ownExtensions }),
      tokenIssuer: createTokenIssuer({ key: opened.signingKey, issuer, clock, random }),
      apiAudiences,
      tokenLife: serviceAccounts,
      reviewToken: authenticator.token,
      authorization,
      componentStatuses: () =>
        componentStatuses({
          "controller-manager": health.find("controller-manager"),
          "etcd-0": { problem: storage.problem?.message },
          scheduler: health.find("scheduler"),
        }),
      eventSeconds: config.eventSeconds,
      ...(config.historyMs === undefined ? {} : { historyMs: config.historyMs }),
      disabledAdmission: config.disabledAdmission,
      admission: config.admission,
      tolerationSeconds: config.tolerationSeconds,
      ...(config.features === undefined ? {} : { features: config.features }),
      ...(audit === undefined ? {} : { audited: audit.ownCalls }),
    })
    if (config.tunnelTo !== undefined)
      config.nodes.findElsewhere(
        remoteKubelets({
          objects,
          clock,
          files: () => files ?? opened,
          certificate: kubeletClientCertificates(() => clock.now()),
          tunnelTo: config.tunnelTo,
        }),
      )
    const ownClient = newClient(plane.transportFor(OWN_USER))
    const pipeline = config.intercept?.(plane.pipeline) ?? plane.pipeline
    if (audit !== undefined && config.beside !== undefined) serving.beside = auditedBeside(config.beside, audit)
    const server = frontDoor({
      context: { clock, random, log, tracing },
      config,
      scheme,
      metrics: serverMetrics,
      registry: metrics,
      health,
      plane,
      pipeline,
      authenticator,
      objects,
      audit,
      serviceAccounts: { issuer, keys, jwksUri: serviceAccounts?.jwksUri },
      serverAddress: () => joinHostPort(advertiseAddress, port),
      encryption: stored?.encryption,
      freshen: storage.freshen?.bind(storage),
    })
    serving.server = server
    // A server in memory does not live for years, so its certificates are not renewed.
    const endRenewal =
      dir === undefined || config.files !== undefined
        ? undefined
        : keepCertificates({
            clock,
            log,
            files: opened,
            reopen,
            renewed(fresh) {
              files = fresh
              listener?.setCertificates(certificatesOf(fresh))
              writeKubeconfig(config, fresh, port)
            },
          })
    const endCuts = onMembershipEnd(storage, () => listener?.cutPeers((peer) => authenticator.isExpelled(peer)))
    signIn?.start()
    opening = undefined
    health.shuttingDown = false
    running = {
      objects,
      pipeline: audit?.ownCalls(pipeline) ?? pipeline,
      aggregator: plane.aggregator,
      server,
      async listen(at) {
        listener = await listenOn(at, config, files ?? opened, serving, given?.choice)
      },
      async stop() {
        endRenewal?.()
        endCuts()
        signIn?.stop()
        given?.stop()
        await stopServing({ clock, listener, plane, beside: config.beside, delayMs: config.shutdownDelayMs })
        plane.refuseAll()
        listener = undefined
        await audit?.sink.close()
        await close(stored)
      },
    }
    writeKubeconfig(config, opened, port)
  }

  return {
    name: "apiserver",
    scheme,
    remoteKinds,
    metrics,
    health,
    get files() {
      return files
    },
    get port() {
      return listener?.port
    },
    async bootstrapToken(text) {
      const { objects } = current()
      const find = () => validBootstrapToken({ objects, now: () => clock.now() }, text)
      const known = find()
      if (known !== undefined || store?.freshen === undefined) return known
      await store.freshen().catch(() => undefined)
      return find()
    },
    async listen(at) {
      const { listen } = current()
      if (listener === undefined) await listen(at)
      return listener!.port
    },
    get server() {
      return current().server
    },
    image() {
      if (store === undefined) throw notRunning()
      return clusterImage(store)
    },
    async start(signal) {
      try {
        await start(signal)
      } catch (err) {
        await this.stop()
        await listener?.stop({ graceMs: 0 })
        given?.stop()
        listener = undefined
        await close(opening)
        opening = undefined
        throw err
      }
    },
    async stop() {
      const stopping = running
      running = undefined
      store = undefined
      endKmsCheck()
      health.shuttingDown = true
      await stopping?.stop()
    },
    askAggregated: (user) => async (path) => askAggregated(current(), user)(path),
    transportFor: (user) =>
      lateTransport(current, ({ pipeline, aggregator }) =>
        inProcessTransport(pipeline, user, clock, {
          resourceOf: scheme.resource,
          remote: (as) => aggregator.transportFor(as),
        }),
      ),
  }
}

const existing = (path: string): string | undefined => (existsSync(path) ? path : undefined)

/** Closes a store of our own, after what goes on with it in the background. */
async function close(stored: OpenedStorage | undefined): Promise<void> {
  await stored?.stop()
  stored?.storage.close()
}
