import { readFileSync } from "node:fs"
import type { PluginHost } from "../../../components/scheduler/plugin-host/plugin-host.ts"
import type { OwnPlugin } from "../../../components/scheduler/config/scheduler-settings.ts"
import type { SchedulerConfig } from "../../../components/scheduler/scheduler.ts"
import { EXTENSION_POINTS } from "../../../pkg/scheduler-plugin/extension-points.ts"
import type { PluginDescription } from "../../../pkg/scheduler-plugin/protocol.ts"
import type { Features } from "../../../pkg/component/features.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { fileError } from "../../../pkg/files/files.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { boolean, list, value, type FlagsOf } from "../cli/flags.ts"
import { UsageError } from "../cli/usage-error.ts"
import * as v from "../cli/values.ts"
import { ownProgram } from "../own-program.ts"
import { PLUGIN_PROCESS } from "../plugin-process.ts"

/** The flags of the scheduler. Source: kube-scheduler's `--config`. */
export const schedulerFlags = {
  "scheduler-config": value(
    v.fileToRead.optional(),
    "File with a KubeSchedulerConfiguration: several schedulers, their plugins, and extenders",
    { placeholder: "FILE", path: true },
  ),
  "scheduler-plugin": list(v.fileToRead, "TypeScript file with a plugin of the scheduler", {
    placeholder: "FILE",
    path: true,
  }),
  "scheduler-plugin-reload": boolean("Load a scheduler plugin again when its folder changes, for development"),
} as const
export type SchedulerFlags = FlagsOf<typeof schedulerFlags>

/**
 * Reads what the flags name; undefined for a scheduler by default, which loads none of the code for that.
 * @throws UsageError with file, line, field and mend
 */
export async function schedulerOf(
  flags: SchedulerFlags & { readonly "feature-gates": Features },
  log: Logger,
): Promise<Omit<SchedulerConfig, "observer"> | undefined> {
  const { "scheduler-config": file, "scheduler-plugin": files } = flags
  if (file === undefined && files.length === 0) return undefined
  const hosts = await pluginsOf(files, flags["scheduler-plugin-reload"], log)
  try {
    const { readSchedulerSettings, settingsWith } =
      await import("../../../components/scheduler/config/scheduler-settings.ts")
    const own = hosts.map(({ description }) => ownPlugin(description, flags["scheduler-plugin-reload"]))
    const scheduler = { own, features: flags["feature-gates"] }
    const settings = file === undefined ? settingsWith(scheduler) : readSchedulerSettings(textOf(file), file, scheduler)
    const { extenders } = settings
    if (hosts.length === 0 && extenders.length === 0) return { settings }
    await configure(hosts, settings.profiles)
    const { ownExternals } = await import("../../../components/scheduler/external-cycle/own-externals.ts")
    const { tlsOf } = await import("../../../components/scheduler/extender/extender-client.ts")
    // Files that cannot be read are found now.
    for (const extender of extenders) tlsOf(extender)
    return { settings, externals: ownExternals(hosts, extenders) }
  } catch (err) {
    await Promise.all(hosts.map((host) => host.stop()))
    throw new UsageError(
      `${file === undefined ? "--scheduler-plugin" : "--scheduler-config"} cannot be used:\n${errorMessage(err)}`,
    )
  }
}

/**
 * Returns a plugin as the profiles know it. One that is loaded again may have methods then that it does not have now:
 * it has a place at every extension point, except for the order of the queue, which only one plugin can have.
 */
export const ownPlugin = (
  { name, points, weight }: Pick<PluginDescription, "name" | "points" | "weight">,
  isReloaded: boolean,
): OwnPlugin => ({
  name,
  weight,
  points: isReloaded ? EXTENSION_POINTS.filter((point) => point !== "queueSort" || points.includes(point)) : points,
})

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch (err) {
    throw fileError("read", file, err)
  }
}

/** Loads the plugins. @throws UsageError with file and line */
async function pluginsOf(files: readonly string[], reloads: boolean, log: Logger): Promise<readonly PluginHost[]> {
  if (files.length === 0) return []
  const { ProcessHost } = await import("../../../components/scheduler/plugin-host/process-host.ts")
  const { ReloadingHost } = await import("../../../components/scheduler/plugin-host/reloading-host.ts")
  const hosts: PluginHost[] = []
  for (const file of files)
    try {
      const options = { file, command: [...ownProgram(), PLUGIN_PROCESS], clock: realClock, log }
      const host = reloads ? await ReloadingHost.load(options) : await ProcessHost.load(options)
      hosts.push(host)
      const { name } = host.description
      if (hosts.some((other) => other !== host && other.description.name === name))
        throw new Error(`another plugin is named ${name} too`)
    } catch (err) {
      await Promise.all(hosts.map((host) => host.stop()))
      throw new UsageError(`--scheduler-plugin ${file} cannot be used: ${errorMessage(err)}`)
    }
  return hosts
}

/** Has the plugins check their arguments. @throws Error that names the plugin */
async function configure(
  hosts: readonly PluginHost[],
  profiles: readonly { readonly ownArgs: ReadonlyMap<string, unknown> }[],
): Promise<void> {
  for (const host of hosts)
    for (const { ownArgs } of profiles)
      await host.ask({ call: "configure", args: ownArgs.get(host.description.name) }, undefined, CONFIGURE_MS)
}

/** How long a plugin may take to check its arguments, in milliseconds. */
const CONFIGURE_MS = 5000
