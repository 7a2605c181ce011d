import { pushAll } from "../../../pkg/lists/push-all.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { ExtenderConfig } from "../config/scheduler-configuration.ts"
import { httpExtender, type AskExtender } from "../extender/extender-client.ts"
import { ExtenderExternal } from "../extender/extender-external.ts"
import type { PluginHost } from "../plugin-host/plugin-host.ts"
import { Breaker } from "../plugin-host/breaker.ts"
import { PluginExternal } from "../plugin-host/plugin-external.ts"
import { ExternalCycle } from "./external-cycle.ts"
import type { CreateExternals } from "../externals.ts"

/**
 * Returns what makes the plugins of one's own, and the extenders, parts of a scheduler.
 * @param extenderFor returns who asks an extender; over HTTP unless given
 */
export const ownExternals =
  (
    hosts: readonly PluginHost[],
    extenders: readonly ExtenderConfig[],
    extenderFor: (config: ExtenderConfig, clock: Clock) => AskExtender = httpExtender,
  ): CreateExternals =>
  (tools) => {
    const { clock, log, cache, observer } = tools
    const cycle = new ExternalCycle(tools)
    const breakerOf = (what: string, name: string) =>
      new Breaker(`${what} ${name}`, clock, log, (...question) => observer?.asked(name, ...question))
    const breakers = new Map(hosts.map((host) => [host, breakerOf("plugin", host.description.name)]))
    for (const host of hosts) host.begin()
    const made: PluginExternal[] = []
    // Those that can be left out come last. Source: scheduler.go buildExtenders.
    const asked = extenders
      .toSorted((a, b) => Number(a.ignorable) - Number(b.ignorable))
      .map((config) => {
        const breaker = breakerOf("extender", config.urlPrefix)
        return new ExtenderExternal(config, extenderFor(config, clock), breaker, cache)
      })
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
        return [...own, ...asked]
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
