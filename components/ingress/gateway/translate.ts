import { together, type Alone } from "../alone.ts"
import { keyFrom, type Key } from "../../../pkg/client/informer.ts"
import type { Certificates } from "../certificates.ts"
import { isRefusal } from "../routing/target.ts"
import type { Site } from "../routing/site.ts"
import { parentsOf, type Attachment } from "./listeners/attachments.ts"
import { resolve } from "./routes/backend-refs.ts"
import type { BareCondition } from "./status/conditions.ts"
import type { Ground } from "./listeners/ground.ts"
import { grpcRules, httpRules } from "./routes/http-rules.ts"
import { withoutKindConflicts, withoutLostHosts } from "./listeners/conflicts.ts"
import { gatewayStates, type GatewayState, type ListenerState } from "./listeners/listeners.ts"
import type { AnyRoute, Objects } from "./watching/objects.ts"
import { SiteTable } from "./routes/site-table.ts"
import type { RouteState, CompiledRoute } from "./routes/route-state.ts"

export interface Translation {
  readonly gateways: readonly GatewayState[]
  readonly routes: readonly RouteState[]
  readonly sites: readonly Site[]
  /** The number of accepted routes at each listener. */
  readonly attached: ReadonlyMap<ListenerState, number>
}

/**
 * Works out from all objects which ports, hosts and rules are served, and the states that statuses are made from. A
 * Gateway or a route that fails is left out by `alone`.
 */
export function translate(
  objects: Objects,
  certificates: Certificates,
  ground: Ground,
  alone: Pick<Alone, "run"> = together,
): Translation {
  const gateways = gatewayStates(objects, certificates, ground, alone)
  const byKey = new Map<Key, GatewayState>(gateways.map((state) => [keyFrom(state.gateway.metadata), state]))
  const compiled = new Map<AnyRoute, CompiledRoute>()
  const found = objects.routes.flatMap((of): readonly RouteState[] => {
    const done = alone.run(of.kind, of.route, () => {
      const parents = parentsOf(of, byKey, objects)
      if (parents.length === 0) return undefined
      const state = { of, parents, rules: compile(of, objects) }
      // What follows with other routes is tried with this one alone.
      const own = attachmentsOf([state])
      const on = new Set(own.map(({ state: { gateway } }) => byKey.get(keyFrom(gateway.metadata))!))
      new SiteTable([...on], own).sites(new Map([[of, state.rules]]))
      return state
    })
    if (done?.value === undefined) return []
    compiled.set(of, done.value.rules)
    return [done.value]
  })
  const separated = withoutKindConflicts(found)
  const table = new SiteTable(gateways, attachmentsOf(separated))
  const routes = withoutLostHosts(separated, table)
  const attached = new Map<ListenerState, number>()
  for (const { state } of new Map(attachmentsOf(routes).map((each) => [pairKey(each), each])).values())
    attached.set(state, (attached.get(state) ?? 0) + 1)
  return { gateways, routes, attached, sites: table.sites(compiled) }
}

const attachmentsOf = (routes: readonly RouteState[]): readonly Attachment[] =>
  routes.flatMap(({ parents }) => parents.flatMap(({ attachments }) => attachments))

/** A route that names a listener twice, once by `sectionName` and once by its Gateway, is counted once. */
const pairKey = ({ state, of }: Attachment): string =>
  `${keyFrom(state.gateway.metadata)} ${state.listener.name} ${of.kind} ${keyFrom(of.route.metadata)}`

function compile(of: AnyRoute, objects: Objects): CompiledRoute {
  if (of.kind === "HTTPRoute") return httpRules(of.route, objects)
  if (of.kind === "GRPCRoute") return grpcRules(of.route, objects)
  const { metadata, spec } = of.route
  const from = { kind: of.kind, namespace: metadata.namespace ?? "" }
  const unresolved: BareCondition[] = []
  const backends = spec.rules.flatMap(({ backendRefs }) =>
    backendRefs.map(({ weight, ...reference }) => {
      const { to, problem } = resolve(reference, from, objects)
      if (problem !== undefined) unresolved.push(problem)
      return { weight, to: isRefusal(to) ? undefined : to }
    }),
  )
  return { rules: [], unresolved, unsupported: [], isUnsupported: false, passthrough: { backends } }
}
