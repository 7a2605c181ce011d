import type { Backend, Refusal, Target } from "../routing/target.ts"
import type { BackendParts } from "./backend-parts.ts"
import type { Endpoint, IncomingRequest } from "../messages/messages.ts"
import type { Mirrors } from "./mirrors.ts"

/** What an exchange needs beside its request and its client. */
export interface ProxyParts extends BackendParts {
  /** Where a request goes at this moment. `path` is its path as `normalPath` gives it. */
  readonly route: (request: IncomingRequest, path: string) => Target | Refusal
  readonly mirrors: Mirrors
  /** The port to which requests without TLS are redirected. */
  readonly httpsPort: number
  readonly finished: (exchange: Finished) => void
}

/** A finished exchange, for metrics and the access log. */
export interface Finished {
  readonly request: IncomingRequest
  readonly target: Target | undefined
  readonly backend: Backend | undefined
  readonly endpoint: Endpoint | undefined
  /** 499 when the client disconnected before there was a response. */
  readonly status: number
  /** Bytes of the bodies. */
  readonly received: number
  readonly sent: number
  readonly ms: number
}
