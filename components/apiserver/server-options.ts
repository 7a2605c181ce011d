import type { Clock } from "../../pkg/clock/clock.ts"
import type { Random } from "../../pkg/clock/random.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { Tracing } from "../../pkg/tracing/tracing.ts"
import type { Aggregator } from "./aggregator/aggregator.ts"
import type { AuditSink } from "./audit/audit-sink.ts"
import type { Authenticator } from "./authentication/authenticator.ts"
import type { Connections } from "./endpoints/connect.ts"
import type { InFlightLimits } from "./flowcontrol/max-in-flight.ts"
import type { FlowControl } from "./flowcontrol/flow-control.ts"
import type { Exchange } from "./call/exchange.ts"
import type { RequestInfo } from "./call/request-info.ts"
import type { ServerMetrics } from "./metrics.ts"
import type { Pipeline, UserInfo } from "./call/request.ts"
import type { Past } from "./past/past.ts"
import type { Scheme } from "../../pkg/api/scheme.ts"

/** What the server of requests over HTTP is made of. */
export interface ServerOptions {
  readonly pipeline: Pipeline
  readonly scheme: Scheme
  readonly authenticator: Authenticator
  readonly metrics: ServerMetrics
  /** Serves paths that are no resource: health, discovery, metrics … */
  readonly paths: (exchange: Exchange, info: RequestInfo, user: UserInfo) => void | Promise<void>
  /** Serves what is asked of the past: states of objects, and their history. Loaded at the first such request. */
  readonly past: () => Promise<Past>
  /** Forwards requests for versions that extension API servers serve. */
  readonly aggregator?: Pick<Aggregator, "remoteOf" | "hasResource" | "serve">
  /** Serves subresources that stream: log, exec, attach, portforward, proxy. */
  readonly connections: Connections
  readonly audit?: AuditSink
  /** Resolves when this server knows all that others have written; absent where no store is shared. */
  readonly freshen?: (() => Promise<void>) | undefined
  /** Priority and fairness; without it only the limits of `maxInFlight` apply. */
  readonly flow?: FlowControl | undefined
  readonly maxInFlight?: InFlightLimits
  /** Most time of a request that is no watch or stream; 60 seconds unless given. */
  readonly requestTimeoutMs?: number
  /** Requests and watches have no time limit. */
  readonly withoutTimeLimits?: boolean
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly tracing?: Tracing | undefined
}
