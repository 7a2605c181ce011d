import type { LabelSelector } from "../../apimachinery/meta.ts"
import type { KubeObject } from "../../apimachinery/resource.ts"
import type { Ward } from "../doctor.ts"

export const GATEWAY_GROUP = "gateway.networking.k8s.io"

/** Names another object; which fields it may have depends on where it stands. */
export interface Reference {
  readonly group?: string
  readonly kind?: string
  readonly namespace?: string
  readonly name: string
  readonly port?: number
  readonly sectionName?: string
}

export interface Listener {
  readonly name: string
  readonly port: number
  readonly protocol: string
  readonly hostname?: string
  readonly tls?: { readonly certificateRefs?: readonly Reference[] }
  readonly allowedRoutes?: {
    readonly namespaces?: { readonly from?: string; readonly selector?: LabelSelector }
    readonly kinds?: readonly { readonly kind: string }[]
  }
}

/** A Gateway, a route or a ReferenceGrant, as far as it names others. */
export interface GatewayObject extends KubeObject {
  readonly spec: {
    readonly gatewayClassName?: string
    readonly listeners?: readonly Listener[]
    readonly parentRefs?: readonly Reference[]
    readonly hostnames?: readonly string[]
    readonly rules?: readonly { readonly backendRefs?: readonly Reference[] }[]
    readonly from?: readonly { readonly kind: string; readonly namespace: string }[]
    readonly to?: readonly { readonly group?: string; readonly kind: string; readonly name?: string }[]
  }
}

/** Returns the objects of a kind of Gateway API; undefined where the kind is not served, or may not be read. */
export async function gatewayObjects(
  kind: string,
  namespace: string | undefined,
  { reader }: Ward,
): Promise<readonly GatewayObject[] | undefined> {
  for (const version of ["v1", "v1beta1"]) {
    const found = await reader.kindOf({ apiVersion: `${GATEWAY_GROUP}/${version}`, kind })
    if (found !== undefined)
      return (await reader.listIfAllowed(found, namespace)) as readonly GatewayObject[] | undefined
  }
  return undefined
}

/** Whether an object may name one of another namespace, which needs a ReferenceGrant there; true where none can be read. */
export async function isGranted(
  { kind, metadata }: GatewayObject,
  to: { readonly kind: "Service" | "Secret"; readonly namespace: string; readonly name: string },
  ward: Ward,
): Promise<boolean> {
  const { namespace = "" } = metadata
  if (to.namespace === namespace) return true
  const grants = await gatewayObjects("ReferenceGrant", to.namespace, ward)
  return (
    grants === undefined ||
    grants.some(
      ({ spec }) =>
        (spec.from ?? []).some((one) => one.kind === kind && one.namespace === namespace) &&
        (spec.to ?? []).some((one) => one.kind === to.kind && (one.name ?? to.name) === to.name),
    )
  )
}
