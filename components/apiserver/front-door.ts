import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { Scheme } from "../../pkg/api/scheme.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import type { Registry } from "../../pkg/metrics/registry.ts"
import type { ApiCore } from "./api-core.ts"
import type { ApiServerConfig } from "./apiserver-config.ts"
import type { Audit } from "./audit/create-audit.ts"
import type { Authenticator } from "./authentication/authenticator.ts"
import type { Objects } from "./cacher/objects.ts"
import type { Pipeline } from "./call/request.ts"
import type { SecretsEncryption } from "./encryption/secrets-encryption.ts"
import { secretsEncryptionPaths } from "./encryption/paths.ts"
import { connectAdmission } from "./endpoints/connect-admission.ts"
import { createConnections } from "./endpoints/connect.ts"
import { createOpenApi } from "./endpoints/openapi.ts"
import { createPaths, type PathsOptions } from "./endpoints/paths.ts"
import { podStreams } from "./endpoints/pod-streams.ts"
import { proxies } from "./endpoints/proxy.ts"
import type { Health } from "./health/health.ts"
import type { ServerMetrics } from "./metrics.ts"
import type { Past } from "./past/past.ts"
import { createServer, type Server } from "./server.ts"
import { whyPaths } from "./why/paths.ts"

export interface FrontDoorParts {
  readonly context: Pick<ComponentContext, "clock" | "random" | "log" | "tracing">
  readonly config: ApiServerConfig
  readonly scheme: Scheme
  readonly metrics: ServerMetrics
  readonly registry: Registry
  readonly health: Health
  readonly plane: ApiCore
  /** The pipeline of `plane`, or what a test put around it. */
  readonly pipeline: Pipeline
  readonly authenticator: Authenticator
  readonly objects: Objects
  readonly audit: Audit | undefined
  readonly serviceAccounts: PathsOptions["serviceAccounts"]
  /** `host:port` by which clients reach the server. */
  readonly serverAddress: () => string
  readonly encryption: (() => Promise<SecretsEncryption>) | undefined
  /** Absent for a store of one server. */
  readonly freshen: (() => Promise<void>) | undefined
}

/** Returns what answers HTTP requests: objects, streams to pods and nodes, and all other paths. */
export function frontDoor({ context, config, plane, scheme, objects, pipeline, ...parts }: FrontDoorParts): Server {
  const { clock, random, log, tracing } = context
  const { metrics, health, audit } = parts
  let past: Promise<Past> | undefined
  const server: Server = createServer({
    past: () =>
      (past ??=
        config.historyMs === 0
          ? import("./past/no-past.ts").then(({ NO_PAST }) => NO_PAST)
          : import("./past/past.ts").then(({ createPast }) =>
              createPast({ registry: plane.registry, scheme, metrics }),
            )),
    pipeline,
    scheme,
    authenticator: parts.authenticator,
    metrics,
    clock,
    random,
    log,
    tracing,
    ...(audit === undefined ? {} : { audit: audit.sink }),
    freshen: parts.freshen,
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
      metrics: parts.registry,
      pods: () => plane.registry.objects.list(Pod),
      flow: plane.flow,
      clock,
      profiler: config.profiler,
      openApi: createOpenApi(scheme, plane.aggregator.openApi, clock),
      serviceAccounts: parts.serviceAccounts,
      serverAddress: parts.serverAddress,
      secretsEncryption: secretsEncryptionPaths(parts.encryption),
      why: whyPaths(() => server, clock),
    }),
  })
  return server
}
