import { keyFrom } from "../../../../pkg/client/informer.ts"
import { GATEWAY_GROUP } from "../../../../pkg/gateway-api/k3ts-class.ts"
import { intersection } from "../../routing/host-map.ts"
import { fails, holds, type BareCondition } from "../status/conditions.ts"
import { allowsNamespace, type GatewayState, type ListenerState } from "./listeners.ts"
import type { AnyRoute, Objects, ParentRef } from "../watching/objects.ts"

/** A route attached to one listener. */
export interface Attachment {
  readonly state: ListenerState
  readonly of: AnyRoute
  /** The hostnames, with or without a wildcard, that the route and the listener have in common; `""` is every host. */
  readonly hostnames: readonly string[]
}

/** Whether one parent accepts a route, and the listeners that the route is attached to there. */
export interface ParentState {
  readonly ref: ParentRef
  readonly accepted: BareCondition
  readonly attachments: readonly Attachment[]
}

/** Returns the parentRefs of a route that name a Gateway of this controller; other parentRefs are left out. */
export function parentsOf(
  any: AnyRoute,
  gateways: ReadonlyMap<string, GatewayState>,
  objects: Objects,
): readonly ParentState[] {
  const { metadata, spec } = any.route
  const namespace = metadata.namespace ?? ""
  return (spec.parentRefs ?? []).flatMap((ref) => {
    if (ref.group !== GATEWAY_GROUP || ref.kind !== "Gateway") return []
    const gateway = gateways.get(keyFrom({ namespace: ref.namespace ?? namespace, name: ref.name }))
    return gateway === undefined ? [] : { ref, ...attach(any, ref, gateway, objects) }
  })
}

function attach(
  any: AnyRoute,
  { sectionName, port }: ParentRef,
  { listeners }: GatewayState,
  objects: Objects,
): Omit<ParentState, "ref"> {
  const refused = (reason: string, message: string) => ({
    accepted: fails("Accepted", reason, message),
    attachments: [],
  })
  const named = listeners.filter(
    ({ listener }) =>
      (sectionName === undefined || listener.name === sectionName) && (port === undefined || listener.port === port),
  )
  if (named.length === 0) return refused("NoMatchingParent", "the Gateway has no listener of this name and port")
  const { metadata, spec } = any.route
  const allowed = named.filter(
    (state) => state.kinds.includes(any.kind) && allowsNamespace(state, metadata.namespace ?? "", objects),
  )
  if (allowed.length === 0)
    return refused("NotAllowedByListeners", "no listener lets routes of this kind and namespace attach to it")
  const attachments = allowed.flatMap((state) => {
    const hostnames = intersection(state.hostname, spec.hostnames ?? [])
    return hostnames.length === 0 ? [] : { state, of: any, hostnames }
  })
  if (attachments.length === 0)
    return refused("NoMatchingListenerHostname", "no hostname of the route matches a listener")
  return { accepted: holds("Accepted", "Accepted"), attachments }
}
