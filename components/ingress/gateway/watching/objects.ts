import type { Secret } from "../../../../pkg/api/core/v1/secret/secret.ts"
import type { Service } from "../../../../pkg/api/core/v1/service/service.ts"
import type { Labels } from "../../../../pkg/apimachinery/selectors/labels.ts"
import type { Gateway } from "../../../../pkg/gateway-api/gateway.ts"
import type { GRPCRoute } from "../../../../pkg/gateway-api/grpcroute.ts"
import type { HTTPRoute } from "../../../../pkg/gateway-api/httproute.ts"
import type { TLSRoute } from "../../../../pkg/gateway-api/tlsroute.ts"
import type { Grants } from "../listeners/grants.ts"

export type AnyRoute =
  | { readonly kind: "HTTPRoute"; readonly route: HTTPRoute }
  | { readonly kind: "GRPCRoute"; readonly route: GRPCRoute }
  | { readonly kind: "TLSRoute"; readonly route: TLSRoute }
export type RouteKind = AnyRoute["kind"]
export type ParentRef = NonNullable<HTTPRoute["spec"]["parentRefs"]>[number]
export type Listener = Gateway["spec"]["listeners"][number]

/** The objects from which the served ports and routes are worked out, at one moment. */
export interface Objects {
  /** The Gateways of this controller's classes, oldest first. */
  readonly gateways: readonly Gateway[]
  /** Oldest first. */
  readonly routes: readonly AnyRoute[]
  readonly grants: Grants
  /** Undefined for a namespace that does not exist. */
  readonly namespaceLabels: (name: string) => Labels | undefined
  readonly service: (key: string) => Service | undefined
  /** Returns a Secret of type kubernetes.io/tls; Secrets of other types are not known here. */
  readonly secret: (key: string) => Secret | undefined
}
