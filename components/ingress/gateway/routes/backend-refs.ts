import { keyFrom } from "../../../../pkg/client/informer.ts"
import { GATEWAY_GROUP } from "../../../../pkg/gateway-api/k3ts-class.ts"
import type { BackendRef, Refusal } from "../../routing/target.ts"
import { fails, type BareCondition } from "../status/conditions.ts"
import type { Objects, RouteKind } from "../watching/objects.ts"

/** A reference to a backend; the fields that backendRefs of all kinds of routes share. */
export interface Reference {
  readonly group: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  readonly port?: number
}

/** The kind and namespace of the route that has the reference: ReferenceGrants name these. */
export interface RouteName {
  readonly kind: RouteKind
  readonly namespace: string
}

export type Resolved =
  | { readonly to: BackendRef; readonly problem?: undefined }
  | { readonly to: Refusal; readonly problem: BareCondition }

/**
 * Returns the Service that a reference names. A reference that cannot be used gives a refusal instead: its share of the
 * requests is answered with 500, and `problem` is the condition ResolvedRefs. With `http2` requests go to it over
 * HTTP/2. Source: apis/v1/httproute_types.go HTTPRouteRule.BackendRefs.
 */
export function resolve(
  { group, kind, name, namespace, port = 0 }: Reference,
  from: RouteName,
  { grants, service }: Pick<Objects, "grants" | "service">,
  http2 = false,
): Resolved {
  const to = { group, kind, namespace: namespace ?? from.namespace, name }
  const text = `${kind} ${to.namespace}/${name}`
  const refused = (reason: string, message: string): Resolved => ({
    to: { status: 500, reason: "the backend of this rule cannot be used" },
    problem: fails("ResolvedRefs", reason, message),
  })
  if (group !== "" || kind !== "Service")
    return refused("InvalidKind", `backend ${group === "" ? "" : `${group}/`}${text}: only Services can be backends`)
  if (!grants.permits({ group: GATEWAY_GROUP, ...from }, to))
    return refused("RefNotPermitted", `backend ${text}: no ReferenceGrant of its namespace permits it`)
  const found = service(keyFrom(to))
  if (found === undefined) return refused("BackendNotFound", `backend ${text} does not exist`)
  if (!(found.spec.ports ?? []).some((one) => one.port === port && one.protocol === "TCP"))
    return refused("BackendNotFound", `backend ${text} has no TCP port ${port}`)
  const ref: BackendRef = { namespace: to.namespace, service: name, port }
  return { to: http2 ? { ...ref, http2 } : ref }
}
