import type { ComponentContext } from "../../../pkg/component/component.ts"
import type { PluginHandler } from "../plugins/plugin-registry.ts"
import type { PluginInfo } from "../plugins/registration-service.ts"
import type { PluginSockets } from "../runtime/runtime.ts"
import type { DeviceHealths } from "./device-health.ts"
import type { DraDrivers } from "./dra-driver.ts"
import { chosenService, DraPlugin } from "./dra-plugin.ts"
import { HealthWatch } from "./health-watch.ts"

export interface DraPluginsOptions extends Pick<ComponentContext, "clock" | "spawn"> {
  readonly sockets: PluginSockets
  /** Gets what plugins say of the health of their devices. */
  readonly healths: DeviceHealths
  /** Called when a driver may have become usable or unusable. */
  readonly changed: (driver: string, usable: boolean) => void
}

/**
 * The registered plugins of DRA drivers. During an update a driver has several, one for each version. Source:
 * pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go.
 */
export class DraPlugins implements PluginHandler, DraDrivers {
  readonly #options: DraPluginsOptions
  /** By driver name, in the order of registration. */
  readonly #plugins = new Map<string, readonly DraPlugin[]>()
  readonly #listeners = new Set<() => void>()
  #stopped = false

  constructor(options: DraPluginsOptions) {
    this.#options = options
  }

  validate(plugin: PluginInfo): void {
    chosenService(plugin)
  }

  register(info: PluginInfo): void {
    const { name, endpoint } = info
    const others = this.#of(name)
    if (others.some((other) => other.endpoint === endpoint))
      throw new Error(`endpoint ${endpoint} already registered for DRA driver plugin ${name}`)
    const { sockets, clock, spawn, healths } = this.#options
    const channel = sockets.connect(endpoint)
    const health = new HealthWatch({
      channel,
      clock,
      spawn,
      reported: (devices) => healths.report(name, devices),
      lost: () => this.#lost(name),
    })
    const plugin = new DraPlugin(info, channel, health, () => this.#tell(name))
    this.#plugins.set(name, [...others, plugin])
    this.#tell(name)
    for (const listener of this.#listeners) listener()
  }

  deregister({ name, endpoint }: PluginInfo): void {
    const left = this.#of(name).filter((plugin) => plugin.endpoint !== endpoint)
    for (const plugin of this.#of(name)) if (!left.includes(plugin)) plugin.close()
    if (left.length === 0) this.#plugins.delete(name)
    else this.#plugins.set(name, left)
    this.#tell(name)
  }

  /**
   * Returns the newest connected plugin of the driver, or the newest one when none is connected. @throws Error when the
   * driver has no plugin
   */
  get(driver: string): DraPlugin {
    const plugins = this.#of(driver)
    const plugin = plugins.findLast(({ connected }) => connected) ?? plugins.at(-1)
    if (plugin === undefined) throw new Error(`DRA driver ${driver} is not registered`)
    return plugin
  }

  onRegistered(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  stop(): void {
    this.#stopped = true
    for (const plugin of [...this.#plugins.values()].flat()) plugin.close()
  }

  #of(driver: string): readonly DraPlugin[] {
    return this.#plugins.get(driver) ?? []
  }

  /** During an update another plugin of the driver may go on to tell the health of the same devices. */
  #lost(driver: string): void {
    if (this.#stopped || this.#of(driver).some(({ tellsHealth }) => tellsHealth)) return
    this.#options.healths.forget(driver)
  }

  #tell(driver: string): void {
    if (this.#stopped) return
    this.#options.changed(
      driver,
      this.#of(driver).some(({ connected }) => connected),
    )
  }
}
