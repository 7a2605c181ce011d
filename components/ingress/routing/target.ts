import type { Key } from "../../../pkg/client/informer.ts"
import type { Field } from "../messages/head.ts"
import type { Policy } from "./policy.ts"

/** A port of a Service, by name or by number. */
export interface BackendRef {
  readonly namespace: string
  readonly service: string
  readonly port: string | number
  /**
   * Whether requests go to the endpoints over HTTP/2 even if the port of the Service names a version 1. The port says
   * whether TLS is used.
   */
  readonly http2?: boolean
}

/** The kind and key of the object that owns a route. */
export interface Owner {
  readonly kind: "Ingress" | "HTTPRoute" | "GRPCRoute" | "TLSRoute"
  readonly key: Key
}

/** The proxy answers the request itself. */
export interface Refusal {
  readonly status: number
  readonly reason: string
}

/** Changes to the header fields of a message. `remove` has names in lower case. */
export interface FieldChanges {
  readonly set: readonly Field[]
  readonly add: readonly Field[]
  readonly remove: ReadonlySet<string>
}

/** A new path, or a new text in place of the first `prefix` characters of the path. */
export type PathChange =
  | { readonly kind: "full"; readonly value: string }
  | { readonly kind: "prefix"; readonly prefix: number; readonly value: string }

export interface Rewrite {
  readonly hostname?: string
  readonly path?: PathChange
}

export interface Redirect extends Rewrite {
  readonly scheme?: "http" | "https"
  readonly port?: number
  readonly status: number
}

/** A Service that gets copies of requests. `share` of 1 is all requests. */
export interface Mirror {
  readonly to: BackendRef
  readonly share: number
}

/** The changes to a request and its response, and the copies of the request. */
export interface Changes {
  readonly request?: FieldChanges
  readonly answer?: FieldChanges
  readonly rewrite?: Rewrite
  readonly mirrors?: readonly Mirror[]
}

/** One of the backends among which requests are distributed by weight. */
export interface Backend extends Changes {
  readonly weight: number
  readonly to: BackendRef | Refusal
}

/** What happens to the requests that a rule matches. */
export interface Target extends Changes {
  readonly owner: Owner
  readonly policy: Policy
  /** When set, the request is answered with this redirect and no backend is asked. */
  readonly redirect?: Redirect
  readonly backends: readonly Backend[]
}

export const isRefusal = (to: object): to is Refusal => "status" in to && "reason" in to

/** Chooses by weight. `chance` is at least 0 and less than 1. Undefined where no backend has a weight. */
export function chooseByWeight<T extends { readonly weight: number }>(
  backends: readonly T[],
  chance: number,
): T | undefined {
  const [first] = backends
  if (backends.length === 1) return first!.weight > 0 ? first : undefined
  let left = chance * backends.reduce((sum, { weight }) => sum + weight, 0)
  return backends.find(({ weight }) => weight > 0 && (left -= weight) < 0)
}

/** The name of the Service behind a backend. */
export const serviceOf = (backend: Backend | undefined): string | undefined =>
  backend === undefined || isRefusal(backend.to) ? undefined : backend.to.service
