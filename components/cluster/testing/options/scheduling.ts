import { readFileSync } from "node:fs"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { featuresOf } from "../../../../pkg/component/features.ts"
import { ConfigurationError } from "../../../../pkg/config-file/config-file.ts"
import { describePlugin } from "../../../../pkg/scheduler-plugin/describe-plugin.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { didYouMean } from "../../../../pkg/names/suggest.ts"
import { readSchedulerSettings, settingsWith, type OwnPlugin } from "../../../scheduler/config/scheduler-settings.ts"
import { ownExternals } from "../../../scheduler/external-cycle/own-externals.ts"
import type { ExtenderConfig } from "../../../scheduler/config/scheduler-configuration.ts"
import {
  extenderName,
  extenderTimeout,
  httpExtender,
  type AskExtender,
} from "../../../scheduler/extender/extender-client.ts"
import { PluginError } from "../../../scheduler/plugin-host/plugin-host.ts"
import { LocalHost } from "../../../scheduler/plugin-host/local-host.ts"
import type { AssemblyOptions } from "../assembly.ts"
import { TestClusterError } from "../caller.ts"
import type { ClusterOptions } from "./options.ts"

/** Returns what the scheduler has beside or instead of its defaults. @throws TestClusterError */
export function schedulingFrom({
  schedulerConfig,
  schedulerPlugins = [],
  schedulerExtenders = {},
  features = {},
}: ClusterOptions): NonNullable<AssemblyOptions["scheduling"]> {
  try {
    const own: readonly OwnPlugin[] = schedulerPlugins.map(describePlugin)
    const twice = own.find(({ name }, i) => own.findIndex((other) => other.name === name) !== i)
    if (twice !== undefined) throw new ConfigurationError(`there are two plugins named ${JSON.stringify(twice.name)}`)
    const scheduler = { own, features: featuresOf(features) }
    const settings =
      schedulerConfig === undefined
        ? settingsWith(scheduler)
        : readSchedulerSettings(...textOf(schedulerConfig), scheduler)
    checkExtenders(schedulerExtenders, settings.extenders)
    return {
      settings,
      ...(own.length === 0 && settings.extenders.length === 0
        ? {}
        : {
            externals: (tools) =>
              ownExternals(
                schedulerPlugins.map((plugin) => new LocalHost(plugin, tools.clock)),
                settings.extenders,
                (config, clock) => askedHere(config, schedulerExtenders, clock) ?? httpExtender(config, clock),
              )(tools),
          }),
    }
  } catch (err) {
    if (err instanceof TestClusterError) throw err
    throw new TestClusterError(
      `Cannot use ${schedulerConfig === undefined ? "schedulerPlugins" : "schedulerConfig"}: ${errorMessage(err)}`,
    )
  }
}

/** @throws TestClusterError for a function that would never be asked */
function checkExtenders(functions: object, extenders: readonly ExtenderConfig[]): void {
  const known = extenders.map(({ urlPrefix }) => urlPrefix)
  const unknown = Object.keys(functions).find((url) => !known.includes(url))
  if (unknown !== undefined)
    throw new TestClusterError(
      `Cannot use schedulerExtenders: no extender of schedulerConfig has the urlPrefix ${JSON.stringify(unknown)}` +
        didYouMean(unknown, known),
    )
}

/** Returns who asks a function of the test in the place of an extender; undefined where the test has none. */
function askedHere(
  config: ExtenderConfig,
  functions: NonNullable<ClusterOptions["schedulerExtenders"]>,
  clock: Clock,
): AskExtender | undefined {
  const { urlPrefix } = config
  const answer = Object.hasOwn(functions, urlPrefix) ? functions[urlPrefix] : undefined
  if (answer === undefined) return undefined
  const timeoutMs = extenderTimeout(config)
  return async (verb, args) => {
    const late = Promise.withResolvers<never>()
    const failed = (why: string) => new PluginError(`${extenderName(config)}: ${verb} ${why}`, true)
    const timer = clock.setTimeout(() => late.reject(failed(`has not answered within ${timeoutMs / 1000}s`)), timeoutMs)
    try {
      // By value, as over HTTP.
      const asked = Promise.resolve(answer(verb, JSON.parse(JSON.stringify(args)) as Readonly<Record<string, unknown>>))
      const answered = await Promise.race([asked, late.promise])
      return answered === undefined ? undefined : (JSON.parse(JSON.stringify(answered)) as unknown)
    } catch (err) {
      throw err instanceof PluginError ? err : failed(`failed: ${errorMessage(err)}`)
    } finally {
      timer.cancel()
    }
  }
}

/** YAML has several lines, a path has one. */
function textOf(source: NonNullable<ClusterOptions["schedulerConfig"]>): readonly [text: string, file: string] {
  if (typeof source !== "string") return [JSON.stringify(source, undefined, 2), "schedulerConfig"]
  return source.includes("\n") ? [source, "schedulerConfig"] : [readFileSync(source, "utf8"), source]
}
