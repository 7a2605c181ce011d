import { readFileSync } from "node:fs"
import { ConfigurationError } from "../../../../pkg/config-file/config-file.ts"
import { describePlugin } from "../../../../pkg/scheduler-plugin/describe-plugin.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { readSchedulerSettings, settingsWith, type OwnPlugin } from "../../../scheduler/config/scheduler-settings.ts"
import { ownExternals } from "../../../scheduler/external-cycle/own-externals.ts"
import { LocalHost } from "../../../scheduler/plugin-host/local-host.ts"
import type { AssemblyOptions } from "../assembly.ts"
import { TestClusterError } from "../caller.ts"
import type { ClusterOptions } from "./options.ts"

/** Returns what the scheduler has beside or instead of its defaults. @throws TestClusterError */
export function schedulingFrom({
  schedulerConfig,
  schedulerPlugins = [],
}: ClusterOptions): NonNullable<AssemblyOptions["scheduling"]> {
  try {
    const own: readonly OwnPlugin[] = schedulerPlugins.map(describePlugin)
    const twice = own.find(({ name }, i) => own.findIndex((other) => other.name === name) !== i)
    if (twice !== undefined) throw new ConfigurationError(`there are two plugins named ${JSON.stringify(twice.name)}`)
    const settings =
      schedulerConfig === undefined ? settingsWith(own) : readSchedulerSettings(...textOf(schedulerConfig), own)
    return {
      settings,
      ...(own.length === 0
        ? {}
        : {
            externals: (tools) =>
              ownExternals(schedulerPlugins.map((plugin) => new LocalHost(plugin, tools.clock)))(tools),
          }),
    }
  } catch (err) {
    throw new TestClusterError(
      `Cannot use ${schedulerConfig === undefined ? "schedulerPlugins" : "schedulerConfig"}: ${errorMessage(err)}`,
    )
  }
}

/** YAML has several lines, a path has one. */
function textOf(source: NonNullable<ClusterOptions["schedulerConfig"]>): readonly [text: string, file: string] {
  if (typeof source !== "string") return [JSON.stringify(source, undefined, 2), "schedulerConfig"]
  return source.includes("\n") ? [source, "schedulerConfig"] : [readFileSync(source, "utf8"), source]
}
