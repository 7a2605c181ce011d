import type { ComponentContext } from "../../../pkg/component/component.ts"
import type { KubeletConfig } from "../model/config.ts"
import { PluginRegistry, registryFolder, type PluginHandler } from "../plugins/plugin-registry.ts"
import type { ContainerRuntime } from "../runtime/runtime.ts"
import { DeviceHealths } from "./device-health.ts"
import { instantDrivers, type DraDrivers } from "./dra-driver.ts"
import { DraPlugins } from "./dra-plugins.ts"
import { SliceWiper } from "./slice-wiper.ts"

/** The DRA drivers of a node, with the registration of their plugins. */
export interface NodeDrivers {
  readonly drivers: DraDrivers
  readonly healths: DeviceHealths
  /** Resolves when the sockets of the plugins that already run are known. */
  start(): Promise<void>
  stop(): void
}

export interface NodeDriversContext extends Pick<ComponentContext, "client" | "clock" | "log" | "spawn"> {
  readonly runtime: Pick<ContainerRuntime, "plugins" | "files">
  readonly config: Pick<KubeletConfig, "nodeName" | "root">
}

/**
 * Returns the drivers whose plugins register with this kubelet; `others` are the handlers of other types of plugins. A simulated machine has no plugins: every driver works
 * at once.
 */
export function nodeDrivers(
  context: NodeDriversContext,
  others: Readonly<Record<string, PluginHandler>> = {},
): NodeDrivers {
  const { runtime, config, clock, log, spawn } = context
  const { plugins: sockets, files } = runtime
  const healths = new DeviceHealths(clock)
  if (sockets === undefined) return { drivers: instantDrivers, healths, start: () => Promise.resolve(), stop() {} }
  const wiper = new SliceWiper(context, config.nodeName)
  const changed = (driver: string, usable: boolean) => wiper.note(driver, usable)
  const drivers = new DraPlugins({ sockets, clock, spawn, healths, changed })
  const folder = registryFolder(config.root)
  const registry = new PluginRegistry({
    sockets,
    folder,
    clock,
    log,
    spawn,
    handlers: { ...others, DRAPlugin: drivers },
  })
  return {
    drivers,
    healths,
    async start() {
      await files.makeFolder(folder, 0o755)
      wiper.start()
      await registry.start()
    },
    stop() {
      registry.stop()
      drivers.stop()
      healths.stop()
      wiper.stop()
    },
  }
}
