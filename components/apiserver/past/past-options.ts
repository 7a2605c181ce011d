import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import type { Value } from "../../../pkg/metrics/registry.ts"
import type { RegistryContext } from "../registry/context.ts"

/** What requests for the past are served from. */
export interface PastOptions {
  readonly registry: RegistryContext
  readonly scheme: Scheme
  readonly watchEvents: (resource: Resource) => Value
}
