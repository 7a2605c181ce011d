import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import { Secret } from "../../../pkg/api/core/v1/secret.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { deepEqual } from "../../../pkg/apimachinery/equal.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { keyFrom, type InformerHandlers, type Key } from "../../../pkg/client/informer.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import { startController, type RunningController } from "../../../pkg/controller/start.ts"
import { Gateway } from "../../../pkg/gateway-api/gateway.ts"
import { GatewayClass } from "../../../pkg/gateway-api/gatewayclass.ts"
import { GRPCRoute } from "../../../pkg/gateway-api/grpcroute.ts"
import { HTTPRoute } from "../../../pkg/gateway-api/httproute.ts"
import { GATEWAY_CONTROLLER } from "../../../pkg/gateway-api/k3ts-class.ts"
import { referencegrant, type ReferenceGrant } from "../../../pkg/gateway-api/referencegrant.ts"
import { TLSRoute } from "../../../pkg/gateway-api/tlsroute.ts"
import type { Certificates } from "../certificates.ts"
import { byAge } from "../routing/compile.ts"
import type { PortsState, Wanted } from "../source.ts"
import { Grants } from "./grants.ts"
import type { Ground } from "./ground.ts"
import { installClass } from "./install.ts"
import type { AnyRoute, Objects, RouteKind } from "./objects.ts"
import { serves, type Plural } from "./served-kinds.ts"
import { classStatus, gatewayStatus, routeStatus } from "./status.ts"
import { tellGateways, tellRoutes, type GatewayTold, type Generation, type RouteTold } from "./tell.ts"
import { translate, type Translation } from "./translate.ts"

/** The kinds of routes, by the plural names of their definitions. */
const ROUTES = { httproutes: HTTPRoute, grpcroutes: GRPCRoute, tlsroutes: TLSRoute } as const
type RoutePlural = keyof typeof ROUTES
const KINDS: Readonly<Record<RoutePlural, RouteKind>> = {
  httproutes: "HTTPRoute",
  grpcroutes: "GRPCRoute",
  tlsroutes: "TLSRoute",
}

/**
 * Watches the Gateway API objects and writes their statuses. GatewayClasses and Gateways are always watched; routes and
 * the objects that they refer to only while this controller has a Gateway.
 */
export class Following {
  readonly #context: ComponentContext
  readonly #changed: () => void
  readonly #off: (() => void)[] = []
  readonly #controllers: RunningController[] = []
  #routes: Routes | undefined
  #translation: Translation | undefined
  #told: ReadonlyMap<Key, Generation<GatewayTold>> = new Map()

  private constructor(context: ComponentContext, changed: () => void) {
    this.#context = context
    this.#changed = changed
  }

  static async start(context: ComponentContext, changed: () => void): Promise<Following> {
    const following = new Following(context, changed)
    await following.#start()
    return following
  }

  async #start(): Promise<void> {
    const { informers, client } = this.#context
    this.#off.push(
      informers.of(GatewayClass).on(ofSpecs(this.#changed)),
      informers.of(Gateway).on(ofSpecs(this.#changed)),
    )
    await Promise.all([informers.of(GatewayClass).whenSynced(), informers.of(Gateway).whenSynced()])
    await installClass(client, informers.of(GatewayClass).list())
    this.#controllers.push(
      await startController(classStatus(), this.#context),
      await startController(
        gatewayStatus((key) => this.#told.get(key)),
        this.#context,
      ),
    )
  }

  /** Returns the Gateways of this controller that are not being deleted, oldest first. */
  gateways(): readonly Gateway[] {
    const { informers } = this.#context
    const classes = informers.of(GatewayClass)
    return informers
      .of(Gateway)
      .list()
      .filter(
        ({ metadata, spec }) =>
          metadata.deletionTimestamp === undefined &&
          classes.get(spec.gatewayClassName)?.spec.controllerName === GATEWAY_CONTROLLER &&
          classes.get(spec.gatewayClassName)?.spec.parametersRef === undefined,
      )
      .sort(byAge)
  }

  /**
   * Starts to watch routes and the objects that they refer to while there are Gateways, and stops when the last one
   * goes.
   */
  async followRoutes(): Promise<void> {
    const wanted = this.gateways().length === 0 ? [] : servedKinds(this.#context)
    if (this.#routes !== undefined && !deepEqual(this.#routes.kinds, wanted)) {
      const stopping = this.#routes
      this.#routes = undefined
      await stopping.stop()
    }
    if (wanted.length > 0) this.#routes ??= await Routes.start(this.#context, wanted, this.#changed)
  }

  async wanted(certificates: Certificates, ground: Ground): Promise<Wanted> {
    const gateways = this.gateways()
    if (gateways.length === 0 || this.#routes === undefined) {
      this.#translation = undefined
      return { sites: [], owners: [] }
    }
    this.#translation = translate(this.#routes.objects(gateways), certificates, ground)
    const { sites, routes } = this.#translation
    return { sites, owners: routes.map(({ of: { kind, route } }) => `${kind}/${keyFrom(route.metadata)}`) }
  }

  tell(ports: PortsState | undefined): void {
    const translation = ports === undefined ? undefined : this.#translation
    const before = this.#told
    this.#told = translation === undefined || ports === undefined ? new Map() : tellGateways(translation, ports)
    for (const key of new Set([...before.keys(), ...this.#told.keys()]))
      for (const controller of this.#controllers) controller.enqueue(key)
    this.#routes?.tell(translation)
  }

  async stop(): Promise<void> {
    for (const off of this.#off) off()
    await this.#routes?.stop()
    await Promise.all(this.#controllers.map((controller) => controller.stop()))
    for (const resource of [Gateway, GatewayClass]) this.#context.informers.forget(resource as Resource)
  }
}

/** Watches routes, ReferenceGrants, Namespaces and Services, and writes the statuses of routes. */
class Routes {
  readonly kinds: readonly Plural[]
  readonly #context: ComponentContext
  readonly #grants: Resource<ReferenceGrant>
  readonly #off: (() => void)[] = []
  readonly #controllers = new Map<RoutePlural, RunningController>()
  readonly #told = new Map<RoutePlural, ReadonlyMap<Key, Generation<RouteTold>>>()

  private constructor(context: ComponentContext, kinds: readonly Plural[]) {
    this.#context = context
    this.kinds = kinds
    const definitions = context.informers.of(CustomResourceDefinition)
    this.#grants = serves(definitions, "referencegrants", "v1") ? referencegrant.kinds.v1 : referencegrant.kinds.v1beta1
  }

  static async start(context: ComponentContext, kinds: readonly Plural[], changed: () => void): Promise<Routes> {
    const routes = new Routes(context, kinds)
    await routes.#start(changed)
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
    await Promise.all([...synced, informers.of(Secret).whenSynced()])
    for (const plural of this.#plurals()) {
      const controller = routeStatus(ROUTES[plural] as Resource<HTTPRoute>, (key) => this.#told.get(plural)?.get(key))
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
      const before = this.#told.get(plural) ?? new Map<Key, never>()
      const states = (translation?.routes ?? []).filter(({ of }) => of.kind === KINDS[plural])
      const told = tellRoutes(states)
      this.#told.set(plural, told)
      for (const key of new Set([...before.keys(), ...told.keys()])) this.#controllers.get(plural)?.enqueue(key)
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

function servedKinds({ informers }: ComponentContext): readonly Plural[] {
  const definitions = informers.of(CustomResourceDefinition)
  const kinds = (Object.keys(ROUTES) as RoutePlural[]).filter((plural) => serves(definitions, plural, "v1"))
  const hasGrants = ["v1", "v1beta1"].some((version) => serves(definitions, "referencegrants", version))
  return hasGrants ? [...kinds, "referencegrants"] : kinds
}

/** Calls `changed` when an object appears, goes or changes its spec, but not when only its status changes. */
const ofSpecs = (changed: () => void): InformerHandlers<KubeObject> => ({
  added: changed,
  deleted: changed,
  updated: ({ metadata }, { metadata: old }) =>
    void (
      (metadata.generation === old.generation && metadata.deletionTimestamp === old.deletionTimestamp) ||
      changed()
    ),
})
