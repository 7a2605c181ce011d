import { pushAll } from "../../../pkg/lists/push-all.ts"
import type { PluginHost } from "../plugin-host/plugin-host.ts"
import { Breaker } from "../plugin-host/breaker.ts"
import { PluginExternal } from "../plugin-host/plugin-external.ts"
import { ExternalCycle } from "./external-cycle.ts"
import type { CreateExternals } from "../externals.ts"

/** Returns what makes the plugins of one's own parts of a scheduler. */
export const ownExternals =
  (hosts: readonly PluginHost[]): CreateExternals =>
  (tools) => {
    const { clock, log, cache } = tools
    const cycle = new ExternalCycle(tools)
    const breakers = new Map(hosts.map((host) => [host, new Breaker(host.description.name, clock, log)]))
    const made: PluginExternal[] = []
    return {
      of: ({ plugins, ownArgs }) => {
        const order = Object.values(plugins.enabled).flat()
        const own = hosts
          .filter(({ description: { name } }) => order.includes(name))
          .toSorted((a, b) => order.indexOf(a.description.name) - order.indexOf(b.description.name))
          .map((host) => {
            const { name } = host.description
            return new PluginExternal({
              host,
              breaker: breakers.get(host)!,
              cache,
              clock,
              log,
              recheck: tools.recheck,
              args: ownArgs.get(name),
              weight: plugins.weights.get(name),
              isEnabled: (point) => plugins.enabled[point].includes(name),
            })
          })
        pushAll(made, own)
        return own
      },
      happened: (action) => made.forEach((plugin) => plugin.happened(action)),
      schedule: (queued, profile, externals) => cycle.schedule(queued, profile, externals),
      async stop() {
        cycle.stop()
        for (const plugin of made) plugin.stop()
        await Promise.all(hosts.map((host) => host.stop()))
      },
    }
  }
