import { CustomResourceDefinition } from "../../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import type { Resource } from "../../../../pkg/apimachinery/resource.ts"
import { keyFrom, type Key } from "../../../../pkg/client/informer.ts"
import type { ComponentContext } from "../../../../pkg/component/component.ts"
import { startController, type RunningController } from "../../../../pkg/controller/start.ts"
import { Gateway } from "../../../../pkg/gateway-api/gateway.ts"
import { GatewayClass } from "../../../../pkg/gateway-api/gatewayclass.ts"
import { GATEWAY_CONTROLLER } from "../../../../pkg/gateway-api/k3ts-class.ts"
import { Alone } from "../../alone.ts"
import type { Certificates } from "../../certificates.ts"
import { byAge } from "../../routing/compile.ts"
import type { PortsState, Wanted } from "../../source.ts"
import type { StatusTurn } from "../../status/status-turn.ts"
import { FollowedRoutes, servedKinds } from "./followed-routes.ts"
import type { Ground } from "../listeners/ground.ts"
import { installClass } from "./install.ts"
import { ofSpecs } from "./of-specs.ts"
import { servesGateways, whileServed } from "./served-kinds.ts"
import { classStatus, gatewayStatus } from "../status/status.ts"
import { gatewayReports, type GatewayReport, type Generation } from "../status/reports.ts"
import { translate, type Translation } from "../translate.ts"

/**
 * Watches the Gateway API objects and writes their statuses. GatewayClasses and Gateways are always watched; routes and
 * the objects that they refer to only while this controller has a Gateway.
 */
export class Following {
  readonly #context: ComponentContext
  readonly #changed: () => void
  readonly #turn: Pick<StatusTurn, "isOurs">
  readonly #alone: Alone
  readonly #off: (() => void)[] = []
  readonly #controllers: RunningController[] = []
  #routes: FollowedRoutes | undefined
  #translation: Translation | undefined
  #reports: ReadonlyMap<Key, Generation<GatewayReport>> = new Map()

  private constructor(context: ComponentContext, changed: () => void, turn: Pick<StatusTurn, "isOurs">) {
    this.#context = context
    this.#changed = changed
    this.#alone = new Alone(context, changed)
    this.#turn = turn
  }

  /** Resolves when GatewayClasses and Gateways are known. When it fails, nothing of it stays behind. */
  static async start(
    context: ComponentContext,
    changed: () => void,
    turn: Pick<StatusTurn, "isOurs">,
  ): Promise<Following> {
    const following = new Following(context, changed, turn)
    try {
      await following.#start()
    } catch (err) {
      await following.stop()
      throw err
    }
    return following
  }

  async #start(): Promise<void> {
    const { informers, client } = this.#context
    this.#off.push(informers.of(GatewayClass).on(ofSpecs(this.#changed)))
    this.#off.push(informers.of(Gateway).on(ofSpecs(this.#changed)))
    const definitions = informers.of(CustomResourceDefinition)
    const synced = Promise.all([informers.of(GatewayClass).whenSynced(), informers.of(Gateway).whenSynced()])
    await whileServed(definitions, () => servesGateways(definitions), synced)
    await installClass(client, informers.of(GatewayClass).list())
    const statuses = gatewayStatus(this.#turn, (key) => this.#reports.get(key))
    this.#controllers.push(await startController(classStatus(this.#turn), this.#context))
    this.#controllers.push(await startController(statuses, this.#context))
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
    if (wanted.length > 0) this.#routes ??= await FollowedRoutes.start(this.#context, wanted, this.#changed, this.#turn)
  }

  async wanted(certificates: Certificates, ground: Ground): Promise<Wanted> {
    const gateways = this.gateways()
    if (gateways.length === 0 || this.#routes === undefined) {
      this.#translation = undefined
      return { sites: [], owners: [] }
    }
    this.#translation = translate(this.#routes.objects(gateways), certificates, ground, this.#alone)
    const { sites, routes } = this.#translation
    return { sites, owners: routes.map(({ of: { kind, route } }) => `${kind}/${keyFrom(route.metadata)}`) }
  }

  tell(ports: PortsState | undefined): void {
    const translation = ports === undefined ? undefined : this.#translation
    const before = this.#reports
    this.#reports = translation === undefined || ports === undefined ? new Map() : gatewayReports(translation, ports)
    for (const key of new Set([...before.keys(), ...this.#reports.keys()]))
      for (const controller of this.#controllers) controller.enqueue(key)
    // The class of a Gateway has no state here; its turn may have come.
    for (const { metadata } of this.#context.informers.of(GatewayClass).list())
      this.#controllers[0]?.enqueue(keyFrom(metadata))
    this.#routes?.tell(translation)
  }

  async stop(): Promise<void> {
    for (const off of this.#off) off()
    await this.#routes?.stop()
    await this.#alone.stop()
    await Promise.all(this.#controllers.map((controller) => controller.stop()))
    for (const resource of [Gateway, GatewayClass]) this.#context.informers.forget(resource as Resource)
  }
}
