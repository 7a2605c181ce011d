import { mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { builtinScheme, type Scheme } from "../../pkg/api/scheme.ts"
import { ApiError } from "../../pkg/apimachinery/errors.ts"
import type { Transport } from "../../pkg/client/client.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import type { Features } from "../../pkg/component/features.ts"
import type { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { createLegacyTokenVerifier } from "../../pkg/jwt/legacy-token.ts"
import { createTokenIssuer, createTokenVerifier, DEFAULT_ISSUER } from "../../pkg/jwt/service-account.ts"
import { registerProcessMetrics } from "../../pkg/metrics/process.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { kubeconfigYaml } from "../../pkg/pki/kubeconfig.ts"
import { replaceFile } from "../../pkg/files/files.ts"
import type { ConnectionLimits } from "../../pkg/runtime/connections.ts"
import { answer, listenTls, type Certificates, type Listener } from "../../pkg/runtime/listen.ts"
import type { Storage } from "../../pkg/storage/storage.ts"
import type { Aggregator } from "./aggregator/aggregator.ts"
import { askAggregated, type AskAggregated } from "./aggregator/in-process.ts"
import { RemoteKinds } from "./aggregator/remote-kinds.ts"
import type { FindExtensionServer, OwnExtension } from "./aggregator/extension-server.ts"
import type { WebhookCaller } from "./webhooks/webhook-caller.ts"
import { createAuditLog } from "./audit/audit-log.ts"
import { createAuthenticator } from "./authentication/authenticator.ts"
import { certificateMeaning } from "./authentication/certificate-meaning.ts"
import { keepLastUsed } from "./authentication/last-used.ts"
import { createLegacyTokens } from "./authentication/legacy-token.ts"
import { createServiceAccountTokens } from "./authentication/service-account.ts"
import { createStaticTokens } from "./authentication/static-token.ts"
import { Objects } from "./cacher/objects.ts"
import { connectAdmission } from "./endpoints/connect-admission.ts"
import { createConnections } from "./endpoints/connect.ts"
import type { Health } from "./endpoints/health.ts"
import { createOpenApi } from "./endpoints/openapi.ts"
import { createPaths } from "./endpoints/paths.ts"
import { podStreams } from "./endpoints/pod-streams.ts"
import { proxies } from "./endpoints/proxy.ts"
import type { InFlightLimits } from "./flowcontrol/max-in-flight.ts"
import { componentStatuses } from "./component-statuses.ts"
import { apiServerHealth } from "./health-checks.ts"
import { createServerMetrics } from "./metrics.ts"
import type { Pipeline, UserInfo } from "./request.ts"
import { OWN_USER, startApiCore } from "./api-core.ts"
import { isAnyAddress, localUrl } from "./local-url.ts"
import { openStorage } from "./open-storage.ts"
import { keepCertificates } from "./renewal.ts"
import { createServer, type Server } from "./server.ts"
import { defaultAdvertiseAddress, frontProxyCertificates, openServingFiles, type ServingFiles } from "./serving.ts"
import { inProcessTransport } from "./transport.ts"

export interface ApiServerConfig {
  /** Files go under `<dataDir>/server`; without it the store is in memory and nothing is written (test clusters). */
  readonly dataDir?: string
  /** Where to listen; without it the server is only reached from this process. */
  readonly listen?: { readonly host: string; readonly port: number }
  /** The address under which others reach this machine; its first one unless given. */
  readonly advertiseAddress?: string
  readonly tlsSans?: readonly string[]
  /** Whether there is a default StorageClass, whose volumes are folders of the nodes. */
  readonly localStorage?: boolean
  /** Whether there is a default IngressClass, whose Ingresses a node of this program serves. */
  readonly ingress?: boolean
  /** CIDR of Service addresses; the first is the server's own. */
  readonly serviceCidr: string
  readonly nodePorts: { readonly first: number; readonly last: number }
  readonly clusterDomain: string
  /** Where to write the administrator's kubeconfig. */
  readonly kubeconfig?: { readonly path: string; readonly mode: number }
  readonly auditLogPath?: string
  /** The nodes that can be reached for logs, exec and the like. */
  readonly nodes: NodeConnectors
  /** The program's metrics; a registry of its own unless given. */
  readonly metrics?: Registry
  /** Frozen objects, so that a change in place throws where it is made: for tests. */
  readonly frozen?: boolean
  /**
   * A store that is its owner's and stays open when the server stops; else one is opened below `dataDir`, or in memory.
   */
  readonly storage?: Storage
  /** Certificates and keys, instead of those in or for `dataDir`. */
  readonly files?: ServingFiles
  /** How long history is kept, in milliseconds; an hour unless given. */
  readonly historyMs?: number
  /** How much of it is kept on disk, in bytes; 128 MiB unless given. */
  readonly historyBytes?: number
  /** Starts although acknowledged writes, or the whole database, are missing below `dataDir`. */
  readonly acceptDataLoss?: boolean
  /**
   * How many requests may be under way at once; upstream's 400 reads and 200 writes unless given. Priority and fairness
   * divides the sum of both.
   */
  readonly maxInFlight?: InFlightLimits
  /** False: requests beyond `maxInFlight` are turned away, whoever sends them, and none waits. */
  readonly priorityAndFairness?: boolean
  /** How long a request may take, in milliseconds; 60 s unless given. */
  readonly requestTimeoutMs?: number
  /**
   * Ends neither requests nor watches because of their time: for a clock that is moved, while clients wait in real
   * time.
   */
  readonly withoutTimeLimits?: boolean
  /** How long connections may be silent, and how many there may be; upstream's times unless given. */
  readonly connectionLimits?: Partial<ConnectionLimits>
  /** Names of admission plugins that are not to run. */
  readonly disabledAdmission?: ReadonlySet<string>
  /** On and off as in Kubernetes 1.36 unless given. */
  readonly features?: Features
  /** Takes the place of how admission webhooks are asked, which is over HTTPS: test clusters call functions. */
  readonly webhooks?: (overHttps: WebhookCaller) => WebhookCaller
  /** APIs that other components of this process serve. */
  readonly ownExtensions?: readonly OwnExtension[]
  /** Functions that stand for the servers behind Services that APIServices name; none unless given. */
  readonly extensionServers?: FindExtensionServer
  /** Comes between the codec and the pipeline, for every request and watch: where test clusters make requests fail. */
  readonly intercept?: (pipeline: Pipeline) => Pipeline
}

export interface ApiServer extends Component {
  /**
   * The way into the API for components of this process, as `user`. Before `start` calls are refused with
   * ServiceUnavailable.
   */
  transportFor(user: UserInfo): Transport
  /** The way to the servers behind APIServices for components of this process, as `user`. */
  askAggregated(user: UserInfo): AskAggregated
  readonly scheme: Scheme
  /** Kinds of other servers, which are not in the scheme. */
  readonly remoteKinds: RemoteKinds
  readonly metrics: Registry
  /**
   * Named checks of /livez and /readyz: other components add theirs. Those of `scheduler` and `controller-manager` are
   * shown as ComponentStatus too.
   */
  readonly health: Health
  /** Certificates and tokens; undefined before `start`. */
  readonly files: ServingFiles | undefined
  /** The port that is listened on; undefined before `start` or without `listen`. */
  readonly port: number | undefined
  /** Opens a port on a server that runs without one. Resolves to the port. */
  listen(at: { readonly host: string; readonly port: number }): Promise<number>
}

type Context = Pick<ComponentContext, "clock" | "random" | "log">

/** What runs between `start` and `stop`. */
interface Running {
  readonly pipeline: Pipeline
  readonly aggregator: Aggregator
  listen(at: ApiServerConfig["listen"]): Promise<void>
  stop(): Promise<void>
}

/** How long answers under way may take when the server stops. */
const STOP_GRACE_MS = 1000

export function createApiServer(context: Context, config: ApiServerConfig): ApiServer {
  const { clock, random, log } = context
  const scheme = builtinScheme()
  const remoteKinds = new RemoteKinds()
  const metrics = config.metrics ?? new Registry()
  const serverMetrics = createServerMetrics(metrics)
  registerProcessMetrics(metrics, clock.now())
  let running: Running | undefined
  let store: Storage | undefined
  const health = apiServerHealth({
    storage: () => store,
    started: () => running !== undefined,
    startedAt: clock.now(),
  })
  /** A store of our own while the server is starting. */
  let opening: Storage | undefined
  let files: ServingFiles | undefined
  let listener: Listener | undefined

  async function start(): Promise<void> {
    const dir = config.dataDir === undefined ? undefined : join(config.dataDir, "server")
    if (dir !== undefined) mkdirSync(dir, { recursive: true, mode: 0o700 })
    const advertiseAddress = config.advertiseAddress ?? defaultAdvertiseAddress()
    // Before the first certificate is made: so a start that is cut short never leaves what looks like a cluster without
    // its database.
    const storage = config.storage ?? (opening = await openStorage(dir, context, config))
    store = storage
    const reopen = () =>
      openServingFiles({
        dir,
        advertiseAddress,
        tlsSans: [...(config.tlsSans ?? []), ...ownAddress(config.listen)],
        serviceAddress: firstAddress(config.serviceCidr),
        clusterDomain: config.clusterDomain,
        now: () => clock.now(),
        random,
      })
    const opened = config.files ?? reopen()
    files = opened
    // The port may be known only once it is listened on, and objects of the cluster name it: whoever asks before all is
    // there is told to come back.
    const serving: { server?: Server } = {}
    listener = await listenOn(config.listen, config.connectionLimits, opened, serving)
    const port = listener?.port ?? 6443

    const frontProxy = frontProxyCertificates(() => clock.now())
    const keys = [opened.signingKey]
    const objects = new Objects(storage)
    const authenticator = createAuthenticator({
      meaningOf: certificateMeaning(opened, () => clock.now()),
      now: () => clock.now(),
      tokens: [
        createStaticTokens({ [opened.adminToken]: { name: "system:admin", groups: ["system:masters"] } }),
        createLegacyTokens({
          verifier: createLegacyTokenVerifier({ keys, apiAudiences: [DEFAULT_ISSUER] }),
          objects,
          used: keepLastUsed({ client: () => ownClient, clock, log }),
        }),
        createServiceAccountTokens({
          verifier: createTokenVerifier({ keys, clock }),
          objects,
          now: () => clock.now(),
        }),
      ],
    })
    const plane = await startApiCore({
      storage,
      clock,
      random,
      log,
      scheme,
      metrics,
      ...(config.webhooks === undefined ? {} : { webhooks: config.webhooks }),
      ...(config.extensionServers === undefined ? {} : { extensionServers: config.extensionServers }),
      remoteKinds,
      frontProxy: () => frontProxy(files ?? opened),
      ...(config.maxInFlight === undefined ? {} : { maxInFlight: config.maxInFlight }),
      ...(config.priorityAndFairness === undefined ? {} : { priorityAndFairness: config.priorityAndFairness }),
      serviceCidr: config.serviceCidr,
      nodePorts: config.nodePorts,
      advertiseAddress,
      port,
      clientCaPem: opened.pki.authorities["client-ca"].certPem,
      frontProxyCaPem: opened.pki.authorities["request-header-ca"].certPem,
      localStorage: config.localStorage === true,
      ingress: config.ingress === true,
      ...(config.ownExtensions === undefined ? {} : { ownExtensions: config.ownExtensions }),
      tokenIssuer: createTokenIssuer({ key: opened.signingKey, clock, random }),
      apiAudiences: [DEFAULT_ISSUER],
      reviewToken: authenticator.token,
      componentStatuses: () =>
        componentStatuses({
          "controller-manager": health.find("controller-manager"),
          "etcd-0": { problem: storage.problem?.message },
          scheduler: health.find("scheduler"),
        }),
      ...(config.historyMs === undefined ? {} : { historyMs: config.historyMs }),
      ...(config.disabledAdmission === undefined ? {} : { disabledAdmission: config.disabledAdmission }),
      ...(config.features === undefined ? {} : { features: config.features }),
    })
    const ownClient = newClient(plane.transportFor(OWN_USER))
    const pipeline = config.intercept?.(plane.pipeline) ?? plane.pipeline
    const audit = config.auditLogPath === undefined ? undefined : createAuditLog(config.auditLogPath, { clock, log })
    serving.server = createServer({
      pipeline,
      scheme,
      authenticator,
      metrics: serverMetrics,
      clock,
      random,
      log,
      ...(audit === undefined ? {} : { audit }),
      flow: plane.flow,
      ...(config.maxInFlight === undefined ? {} : { maxInFlight: config.maxInFlight }),
      ...(config.requestTimeoutMs === undefined ? {} : { requestTimeoutMs: config.requestTimeoutMs }),
      ...(config.withoutTimeLimits === undefined ? {} : { withoutTimeLimits: config.withoutTimeLimits }),
      aggregator: plane.aggregator,
      connections: createConnections(
        {
          ...podStreams(objects, config.nodes),
          ...proxies({ objects, nodes: config.nodes, random }),
        },
        connectAdmission(plane.admission, scheme),
      ),
      paths: createPaths({
        scheme,
        pipeline,
        listed: () => plane.aggregator.listed(),
        health,
        metrics,
        flow: plane.flow,
        clock,
        openApi: createOpenApi(scheme, plane.aggregator.openApi),
        serviceAccounts: { issuer: DEFAULT_ISSUER, keys },
        serverAddress: () => `${advertiseAddress}:${port}`,
      }),
    })
    // In memory a server does not live for years.
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
              if (config.kubeconfig !== undefined)
                writeKubeconfig(config.kubeconfig, fresh, localUrl(config.listen?.host, port))
            },
          })
    opening = undefined
    health.shuttingDown = false
    running = {
      pipeline,
      aggregator: plane.aggregator,
      async listen(at) {
        listener = await listenOn(at, config.connectionLimits, files ?? opened, serving)
      },
      async stop() {
        endRenewal?.()
        plane.close()
        await listener?.stop({ graceMs: STOP_GRACE_MS })
        listener = undefined
        audit?.close()
        if (config.storage === undefined) storage.close()
      },
    }
    if (config.kubeconfig !== undefined) writeKubeconfig(config.kubeconfig, opened, localUrl(config.listen?.host, port))
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
    async listen(at) {
      if (running === undefined) throw new ApiError("ServiceUnavailable", "the API server is not running")
      if (listener === undefined) await running.listen(at)
      return listener!.port
    },
    async start() {
      try {
        await start()
      } catch (err) {
        await this.stop()
        await listener?.stop({ graceMs: 0 })
        listener = undefined
        opening?.close()
        opening = undefined
        throw err
      }
    },
    async stop() {
      const stopping = running
      running = undefined
      store = undefined
      health.shuttingDown = true
      await stopping?.stop()
    },
    askAggregated: (user) => async (path) => {
      if (running === undefined) throw new ApiError("ServiceUnavailable", "the API server is not running")
      return askAggregated(running, user)(path)
    },
    transportFor(user) {
      let transport: { readonly of: Pipeline; readonly transport: Transport } | undefined
      const current = (): Transport => {
        if (running === undefined) throw new ApiError("ServiceUnavailable", "the API server is not running")
        const { pipeline, aggregator } = running
        const remote = (as: UserInfo) => aggregator.transportFor(as)
        if (transport?.of !== pipeline)
          transport = {
            of: pipeline,
            transport: inProcessTransport(pipeline, user, clock, { resourceOf: scheme.resource, remote }),
          }
        return transport.transport
      }
      return {
        call(call, signal) {
          try {
            return current().call(call, signal)
          } catch (err) {
            return Promise.reject(ApiError.from(err))
          }
        },
        watch(resource, options, handlers) {
          try {
            return current().watch(resource, options, handlers)
          } catch (err) {
            handlers.onEnd(ApiError.from(err))
            return { close: () => undefined }
          }
        },
      }
    },
  }
}

/** The address that is listened on, where it is one: clients may know the server by no other. */
const ownAddress = (listen: ApiServerConfig["listen"]): readonly string[] =>
  listen === undefined || isAnyAddress(listen.host) ? [] : [listen.host]

/** What the listener shows, and whose certificates it takes. */
const certificatesOf = ({ serving, pki }: ServingFiles): Certificates => ({
  cert: serving.certPem,
  key: serving.keyPem,
  clientCa: pki.authorities["client-ca"].certPem + pki.authorities["request-header-ca"].certPem,
})

async function listenOn(
  listen: ApiServerConfig["listen"],
  limits: Partial<ConnectionLimits> | undefined,
  files: ServingFiles,
  serving: { readonly server?: Server },
): Promise<Listener | undefined> {
  if (listen === undefined) return undefined
  return listenTls({
    ...listen,
    ...(limits === undefined ? {} : { limits }),
    ...certificatesOf(files),
    onRequest(req, res) {
      if (serving.server !== undefined) serving.server.onRequest(req, res)
      else
        answer(
          res,
          503,
          { "Content-Type": "text/plain; charset=utf-8", "Retry-After": "1" },
          "the API server is starting\n",
        )
    },
    onUpgrade(req, socket, head) {
      if (serving.server !== undefined) serving.server.onUpgrade(req, socket, head)
      else socket.destroy()
    },
  })
}

function writeKubeconfig(
  { path, mode }: { readonly path: string; readonly mode: number },
  { pki, admin }: ServingFiles,
  server: string,
): void {
  mkdirSync(dirname(path), { recursive: true })
  replaceFile(path, kubeconfigYaml({ server, caPem: pki.authorities["server-ca"].certPem, user: admin }), { mode })
}

/** 10.43.0.1 of 10.43.0.0/16: the address of the Service `kubernetes`. */
function firstAddress(cidr: string): string {
  const [network = ""] = cidr.split("/")
  return network.replace(/(?<!\d)\d+$/, (last) => String(Number(last) + 1))
}
