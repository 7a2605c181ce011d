import { CustomResourceDefinition } from "../../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import { Secret } from "../../../../pkg/api/core/v1/secret/secret.ts"
import { Service } from "../../../../pkg/api/core/v1/service/service.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { InformerHandlers, Key } from "../../../../pkg/client/informer.ts"
import type { ComponentContext } from "../../../../pkg/component/component.ts"
import { startController, type RunningController } from "../../../../pkg/controller/start.ts"
import type { Gateway } from "../../../../pkg/gateway-api/gateway.ts"
import { GRPCRoute } from "../../../../pkg/gateway-api/grpcroute.ts"
import { HTTPRoute } from "../../../../pkg/gateway-api/httproute.ts"
import { referencegrant, type ReferenceGrant } from "../../../../pkg/gateway-api/referencegrant.ts"
import { TLSRoute } from "../../../../pkg/gateway-api/tlsroute.ts"
import { byAge } from "../../routing/compile.ts"
import { Grants } from "../listeners/grants.ts"
import type { AnyRoute, Objects, RouteKind } from "./objects.ts"
import { ofSpecs } from "./of-specs.ts"
import { serves, whileServed, type Plural } from "./served-kinds.ts"
import type { StatusTurn } from "../../status/status-turn.ts"
import { routeStatus } from "../status/status.ts"
import { routeReports, type Generation, type RouteReport } from "../status/reports.ts"
import type { Translation } from "../translate.ts"

/** The kinds of routes, by the plural names of their definitions. */
const ROUTES = { httproutes: HTTPRoute, grpcroutes: GRPCRoute, tlsroutes: TLSRoute } as const
type RoutePlural = keyof typeof ROUTES
const KINDS: Readonly<Record<RoutePlural, RouteKind>> = {
  httproutes: "HTTPRoute",
  grpcroutes: "GRPCRoute",
  tlsroutes: "TLSRoute",
}

/** Watches routes, ReferenceGrants, Namespaces and Services, and writes the statuses of routes. */
export class FollowedRoutes {
  readonly kinds: readonly Plural[]
  readonly #context: ComponentContext
  readonly #grants: Resource<ReferenceGrant>
  readonly #off: (() => void)[] = []
  readonly #controllers = new Map<RoutePlural, RunningController>()
  readonly #reports = new Map<RoutePlural, ReadonlyMap<Key, Generation<RouteReport>>>()

  readonly #turn: Pick<StatusTurn, "isOurs">

  private constructor(context: ComponentContext, kinds: readonly Plural[], turn: Pick<StatusTurn, "isOurs">) {
    this.#turn = turn
    this.#context = context
    this.kinds = kinds
    const definitions = context.informers.of(CustomResourceDefinition)
    this.#grants = serves(definitions, "referencegrants", "v1") ? referencegrant.kinds.v1 : referencegrant.kinds.v1beta1
  }

  /** Resolves when all objects are known. When it fails, nothing of it stays behind. */
  static async start(
    context: ComponentContext,
    kinds: readonly Plural[],
    changed: () => void,
    turn: Pick<StatusTurn, "isOurs">,
  ): Promise<FollowedRoutes> {
    const routes = new FollowedRoutes(context, kinds, turn)
    try {
      await routes.#start(changed)
    } catch (err) {
      await routes.stop()
      throw err
    }
    return routes
  }

  async #start(changed: () => void): Promise<void> {
    const { informers } = this.#context
    const follow = <T extends KubeObject>(resource: Resource<T>, handlers: InformerHandlers<T>) => {
      this.#off.push(informers.of(resource).on(handlers))
      return informers.of(resource).whenSynced()
    }
    const synced = [
      follow(Namespace, {
        updated: ({ metadata }, old) => void (deepEqual(metadata.labels, old.metadata.labels) || changed()),
        added: changed,
      }),
      follow(Service, {
        added: changed,
        deleted: changed,
        updated: ({ spec }, old) => void (deepEqual(spec.ports, old.spec.ports) || changed()),
      }),
      ...this.#plurals().map((plural) => follow(ROUTES[plural] as Resource, ofSpecs(changed))),
    ]
    if (this.kinds.includes("referencegrants")) synced.push(follow(this.#grants, ofSpecs(changed)))
    const all = Promise.all([...synced, informers.of(Secret).whenSynced()])
    const isServed = () => this.kinds.every((kind) => servedKinds(this.#context).includes(kind))
    await whileServed(informers.of(CustomResourceDefinition), isServed, all)
    for (const plural of this.#plurals()) {
      const reports = (key: Key) => this.#reports.get(plural)?.get(key)
      const controller = routeStatus(ROUTES[plural] as Resource<HTTPRoute>, this.#turn, reports)
      this.#controllers.set(plural, await startController(controller, this.#context))
    }
  }

  objects(gateways: readonly Gateway[]): Objects {
    const { informers } = this.#context
    const grants = this.kinds.includes("referencegrants") ? informers.of(this.#grants).list() : []
    const routes = this.#plurals().flatMap((plural) =>
      informers
        .of(ROUTES[plural] as Resource)
        .list()
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map((route) => ({ kind: KINDS[plural], route }) as AnyRoute),
    )
    return {
      gateways,
      routes: routes.sort((a, b) => byAge(a.route, b.route)),
      grants: new Grants(grants),
      namespaceLabels: (name) => {
        const namespace = informers.of(Namespace).get(name)
        return namespace === undefined ? undefined : (namespace.metadata.labels ?? {})
      },
      service: (key) => informers.of(Service).get(key),
      secret: (key) => informers.of(Secret).get(key),
    }
  }

  tell(translation: Translation | undefined): void {
    for (const plural of this.#plurals()) {
      const before = this.#reports.get(plural) ?? new Map<Key, never>()
      const states = (translation?.routes ?? []).filter(({ of }) => of.kind === KINDS[plural])
      const reports = routeReports(states)
      this.#reports.set(plural, reports)
      for (const key of new Set([...before.keys(), ...reports.keys()])) this.#controllers.get(plural)?.enqueue(key)
    }
  }

  async stop(): Promise<void> {
    for (const off of this.#off) off()
    this.tell(undefined)
    await Promise.all([...this.#controllers.values()].map((controller) => controller.stop()))
    for (const plural of this.#plurals()) this.#context.informers.forget(ROUTES[plural] as Resource)
    for (const resource of [Namespace, this.#grants]) this.#context.informers.forget(resource as Resource)
  }

  #plurals(): readonly RoutePlural[] {
    return (Object.keys(ROUTES) as RoutePlural[]).filter((plural) => this.kinds.includes(plural))
  }
}

/** Returns the kinds that the cluster serves of those that are watched while there are Gateways. */
export function servedKinds({ informers }: ComponentContext): readonly Plural[] {
  const definitions = informers.of(CustomResourceDefinition)
  const kinds = (Object.keys(ROUTES) as RoutePlural[]).filter((plural) => serves(definitions, plural, "v1"))
  const hasGrants = ["v1", "v1beta1"].some((version) => serves(definitions, "referencegrants", version))
  return hasGrants ? [...kinds, "referencegrants"] : kinds
}
