import { networkInterfaces } from "node:os"
import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { loaded } from "../../../pkg/clock/clock.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import type { Certificates } from "../certificates.ts"
import type { PortsState, Source, Wanted } from "../source.ts"
import type { StatusTurn } from "../status/status-turn.ts"
import type { Following } from "./watching/following.ts"
import { servesGateways } from "./watching/served-kinds.ts"

export interface GatewayConfig {
  /** Addresses of this machine that are given to Gateways, one each, until none is left. */
  readonly addresses: readonly string[]
  /** Returns who uses a port that no listener may have; undefined for a port that listeners may use. */
  readonly reserved: (port: number) => string | undefined
}

export interface GatewaySourceConfig extends GatewayConfig {
  readonly turn: Pick<StatusTurn, "isOurs" | "addresses">
  readonly ingressPorts: ReadonlyMap<number, "http" | "tls">
}

const NOTHING: Wanted = { sites: [], owners: [] }

/**
 * Serves the Gateways of this controller's classes with their routes. Without the Gateway API definitions only
 * definitions are watched; without a Gateway only GatewayClasses and Gateways are watched too.
 */
export class GatewaySource implements Source {
  readonly #context: ComponentContext
  readonly #config: GatewaySourceConfig
  #changed: () => void = () => undefined
  #unsubscribe: (() => void) | undefined
  #following: Following | undefined
  #stopping = new AbortController()

  constructor(context: ComponentContext, config: GatewaySourceConfig) {
    this.#context = context
    this.#config = config
  }

  async start(changed: () => void): Promise<void> {
    this.#changed = changed
    const { informers, client, clock, spawn } = this.#context
    const definitions = informers.of(CustomResourceDefinition)
    this.#unsubscribe = definitions.on({ added: changed, updated: changed, deleted: changed })
    // The update runs in the background, so that it does not delay the start.
    const install = async (): Promise<void> => {
      await definitions.whenSynced()
      const { updateDefinitions } = await loaded(clock, import("./watching/install.ts"))
      await updateDefinitions(client, definitions)
    }
    this.#stopping = new AbortController()
    spawn("gateway-definitions", install, this.#stopping.signal)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
    await this.#unfollow()
  }

  async prepare(): Promise<void> {
    const definitions = this.#context.informers.of(CustomResourceDefinition)
    const isServed = servesGateways(definitions)
    if (isServed && this.#following === undefined) {
      const { Following } = await loaded(this.#context.clock, import("./watching/following.ts"))
      this.#following = await Following.start(this.#context, this.#changed, this.#config.turn)
    } else if (!isServed) await this.#unfollow()
    await this.#following?.followRoutes()
  }

  isEmpty(): boolean {
    return this.#following === undefined || this.#following.gateways().length === 0
  }

  async wanted(certificates: Certificates): Promise<Wanted> {
    const { turn, addresses, reserved, ingressPorts } = this.#config
    return (
      this.#following?.wanted(certificates, {
        nodeIps: turn.addresses,
        pool: addresses,
        isOwnAddress: (address) => ownAddresses().has(address),
        reserved,
        ingressPorts,
      }) ?? NOTHING
    )
  }

  async tell(ports: PortsState | undefined): Promise<void> {
    this.#following?.tell(ports)
  }

  async #unfollow(): Promise<void> {
    const following = this.#following
    this.#following = undefined
    await following?.stop()
  }
}

/** Returns the addresses of this machine other than loopback. */
const ownAddresses = (): ReadonlySet<string> =>
  new Set(
    Object.values(networkInterfaces())
      .flat()
      .flatMap((each) => (each === undefined || each.internal ? [] : each.address)),
  )
