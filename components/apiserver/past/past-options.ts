import type { Scheme } from "../../../pkg/api/scheme.ts"
import type { ServerMetrics } from "../metrics.ts"
import type { RegistryContext } from "../registry/context.ts"

/** What requests for the past are served from. */
export interface PastOptions {
  readonly registry: RegistryContext
  readonly scheme: Scheme
  readonly metrics: ServerMetrics
}
