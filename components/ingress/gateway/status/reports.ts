import { keyFrom, type Key } from "../../../../pkg/client/informer.ts"
import { GATEWAY_GROUP } from "../../../../pkg/gateway-api/k3ts-class.ts"
import type { PortsState } from "../../source.ts"
import { fails, holds, type BareCondition } from "./conditions.ts"
import { isServed, type GatewayState, type ListenerState } from "../listeners/listeners.ts"
import type { ParentRef } from "../watching/objects.ts"
import type { Translation } from "../translate.ts"
import type { RouteState } from "../routes/route-state.ts"

/** The status of a Gateway, before times are added. */
export interface GatewayReport {
  readonly addresses: readonly string[]
  readonly conditions: readonly BareCondition[]
  readonly listeners: readonly {
    readonly name: string
    readonly kinds: readonly string[]
    readonly attachedRoutes: number
    readonly conditions: readonly BareCondition[]
  }[]
}

/** The conditions of a route at each of its parents of this controller. */
export type RouteReport = readonly { readonly ref: ParentRef; readonly conditions: readonly BareCondition[] }[]

/** A status, and the generation of the object that it was made from. */
export interface Generation<T> {
  readonly generation: number
  readonly report: T
}

export function gatewayReports(
  { gateways, attached }: Translation,
  ports: PortsState,
): ReadonlyMap<Key, Generation<GatewayReport>> {
  return new Map(
    gateways.map((state) => {
      const { metadata } = state.gateway
      return [
        keyFrom(metadata),
        { generation: metadata.generation ?? 0, report: gatewayReport(state, attached, ports) },
      ]
    }),
  )
}

function gatewayReport(
  { refusal, listeners, addresses, gateway }: GatewayState,
  attached: Translation["attached"],
  ports: PortsState,
): GatewayReport {
  const listenerReports = listeners.map((state) => {
    const programmed =
      refusal === undefined ? programmedOf(state, ports) : fails("Programmed", "Invalid", refusal.message)
    return {
      name: state.listener.name,
      kinds: state.kinds,
      attachedRoutes: attached.get(state) ?? 0,
      conditions: [...state.conditions, programmed],
    }
  })
  const accepted = refusal ?? (addresses.refusal?.type === "Accepted" ? addresses.refusal : acceptedOf(listeners))
  const isProgrammed = listenerReports.some(({ conditions }) => conditions.at(-1)!.status === "True")
  const programmed =
    accepted.status === "False"
      ? fails("Programmed", "Invalid", accepted.message)
      : (addresses.refusal ??
        (isProgrammed
          ? holds("Programmed", "Programmed")
          : fails("Programmed", "Invalid", `no listener of ${gateway.metadata.name} is served`)))
  return {
    addresses: programmed.status === "True" ? addresses.shown : [],
    conditions: [accepted, programmed],
    listeners: listenerReports,
  }
}

function acceptedOf(listeners: readonly ListenerState[]): BareCondition {
  const wrong = listeners
    .filter(({ conditions }) => conditions[0]!.status === "False")
    .map(({ listener }) => listener.name)
  if (wrong.length === 0) return holds("Accepted", "Accepted")
  const message = `these listeners are not accepted: ${wrong.join(", ")}`
  return wrong.length === listeners.length
    ? fails("Accepted", "ListenersNotValid", message)
    : holds("Accepted", "ListenersNotValid", message)
}

function programmedOf(state: ListenerState, { errors, faults, portOf }: PortsState): BareCondition {
  const { port } = state.listener
  if (!isServed(state)) return fails("Programmed", "Invalid", "the listener is not served: see its other conditions")
  const error = errors.get(port)
  if (error !== undefined) return fails("Programmed", "PortUnavailable", `${error}; the port will be tried again`)
  const open = portOf(state.mode === "http" ? "http" : "tls", port)
  if (open === undefined) return fails("Programmed", "Pending", "the port is being opened")
  const fault = faults.find((each) => each.port === open)
  return fault === undefined ? holds("Programmed", "Programmed") : fails("Programmed", "PortUnavailable", fault.message)
}

export function routeReports(routes: readonly RouteState[]): ReadonlyMap<Key, Generation<RouteReport>> {
  return new Map(
    routes.map((state) => {
      const { metadata } = state.of.route
      return [keyFrom(metadata), { generation: metadata.generation ?? 0, report: routeReport(state) }]
    }),
  )
}

function routeReport({ parents, rules }: RouteState): RouteReport {
  const [problem] = rules.unresolved
  const resolved =
    problem === undefined
      ? holds("ResolvedRefs", "ResolvedRefs")
      : { ...problem, message: [...new Set(rules.unresolved.map(({ message }) => message))].join("; ") }
  const unsupported = rules.unsupported.join("; ")
  return parents.map(({ ref, accepted }) => {
    if (accepted.status === "False" || unsupported === "") return { ref, conditions: [accepted, resolved] }
    return rules.isUnsupported
      ? { ref, conditions: [fails("Accepted", "UnsupportedValue", unsupported), resolved] }
      : { ref, conditions: [accepted, resolved, holds("PartiallyInvalid", "UnsupportedValue", unsupported)] }
  })
}

export const kindText = (kind: string) => ({ group: GATEWAY_GROUP, kind })
