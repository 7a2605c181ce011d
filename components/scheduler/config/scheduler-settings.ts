/**
 * Reads a KubeSchedulerConfiguration, and turns it into what the scheduler needs. Source: pkg/scheduler/apis/config;
 * cmd/kube-scheduler/app/options/configfile.go.
 */
import { DecodeError } from "../../../pkg/apimachinery/decoding/decoder-cursor.ts"
import { decodeMessage, typed } from "../../../pkg/apimachinery/decoding/decode.ts"
import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import { isJsonObject } from "../../../pkg/apimachinery/json/json-value.ts"
import { at, invalidValue } from "../../../pkg/apimachinery/validation/field-errors.ts"
import { DEFAULT_FEATURES, type Features } from "../../../pkg/component/features.ts"
import { parseConfiguration, refusal, type ConfigurationKind } from "../../../pkg/config-file/config-file.ts"
import { didYouMean } from "../../../pkg/names/suggest.ts"
import { argsFaults } from "./args-validation.ts"
import { configurationFaults, isRemovedPlugin } from "./configuration-validation.ts"
import type { ExtensionPoint } from "../../../pkg/scheduler-plugin/extension-points.ts"
import { inTreePoints } from "./in-tree-plugins.ts"
import { ARGS, completeArgs, hasArgs, type ArgsOfPlugins, type PluginWithArgs } from "./plugin-args.ts"
import { pluginsOfProfile, type PluginsContext, type ProfilePlugins } from "./plugin-sets.ts"
import {
  KubeSchedulerConfiguration,
  type ExtenderConfig,
  type KubeSchedulerProfile,
  type PluginEntry,
} from "./scheduler-configuration.ts"

/** One scheduler: pods name it in `schedulerName`. */
export interface ProfileSettings {
  readonly name: string
  /** See `SchedulerSettings`; 0 for a part that depends on the number of nodes. */
  readonly percentageOfNodesToScore: number
  readonly plugins: ProfilePlugins
  /** Arguments of plugins that are part of the scheduler, with defaults. */
  readonly args: ArgsOfPlugins
  /** Arguments of other plugins, by name, as they were written. */
  readonly ownArgs: ReadonlyMap<string, unknown>
}

export interface SchedulerSettings {
  readonly profiles: readonly ProfileSettings[]
  readonly initialBackoffMs: number
  readonly maxBackoffMs: number
  readonly extenders: readonly ExtenderConfig[]
  /** Fields of the file that have a meaning for upstream's scheduler only. */
  readonly meaningless: readonly string[]
}

/** A plugin that is not part of the scheduler. */
export interface OwnPlugin {
  readonly name: string
  readonly points: readonly ExtensionPoint[]
  /** Weight of its score; 1 unless given. */
  readonly weight?: number | undefined
}

/** What a configuration is read for. */
export interface ConfiguredScheduler {
  /** Plugins that are not part of the scheduler: those that the file does not name run in every profile. */
  readonly own: readonly OwnPlugin[]
  /** The gates by which plugins run by default. */
  readonly features: Features
}
const PLAIN: ConfiguredScheduler = { own: [], features: DEFAULT_FEATURES }

/**
 * Reads the text of a file. @throws ConfigurationError with file, line, field and mend
 * @param file for messages
 */
export function readSchedulerSettings(
  text: string,
  file: string,
  scheduler: ConfiguredScheduler = PLAIN,
): SchedulerSettings {
  const { value } = parseConfiguration(text, file, [kindFor(scheduler)])
  const faults = (value.extenders ?? []).flatMap(({ urlPrefix }, i) =>
    /^https?:\/\/[^/]/.test(urlPrefix) && URL.canParse(urlPrefix)
      ? []
      : [
          invalidValue(
            at("extenders", i, "urlPrefix"),
            urlPrefix,
            "must be a URL, as in http://127.0.0.1:8888/scheduler",
          ),
        ],
  )
  if (faults.length > 0) throw refusal(text, file, faults)
  return settingsOf(completed(value), scheduler)
}

/** The settings of a scheduler without a configuration, which has these plugins beside those by default. */
export const settingsWith = (scheduler: ConfiguredScheduler): SchedulerSettings =>
  settingsOf(
    completed(decodeMessage(typed(KubeSchedulerConfiguration), {}).object as unknown as KubeSchedulerConfiguration),
    scheduler,
  )

const kindFor = (scheduler: ConfiguredScheduler): ConfigurationKind<typeof KubeSchedulerConfiguration> => ({
  apiVersions: ["kubescheduler.config.k8s.io/v1"],
  kind: "KubeSchedulerConfiguration",
  schema: KubeSchedulerConfiguration,
  validate: (value) => schedulerFaults(value, scheduler),
})

/** Returns everything that is wrong in a configuration, with upstream's messages where it has one. */
export function schedulerFaults(
  value: KubeSchedulerConfiguration,
  scheduler: ConfiguredScheduler = PLAIN,
): readonly Cause[] {
  const configuration = completed(value)
  const { profiles = [] } = configuration
  const { own } = scheduler
  const context = pluginsContext(configuration, scheduler)
  return [
    ...configurationFaults(configuration),
    ...profiles.flatMap(({ plugins = {}, pluginConfig = [] }, i) => [
      ...pluginsOfProfile(plugins, context, at("profiles", i, "plugins")).causes.filter(
        // These have a message of their own.
        ({ message }) => ![...message.matchAll(/"([^"]*)"/g)].some(([, name]) => isRemovedPlugin(name!)),
      ),
      ...pluginConfig.flatMap(({ name, args }, j) => {
        const path = at("profiles", i, "pluginConfig", j)
        return hasArgs(name)
          ? decodedArgs(name, args, at(path, "args")).causes
          : own.some((plugin) => plugin.name === name) || inTreePoints(name) === undefined
            ? []
            : [invalidValue(at(path, "name"), name, "this plugin has no arguments: leave the entry out")]
      }),
    ]),
  ]
}

const pluginsContext = (
  configuration: KubeSchedulerConfiguration,
  { own, features }: ConfiguredScheduler,
): PluginsContext => ({
  pointsOf: (name) => inTreePoints(name) ?? own.find((plugin) => plugin.name === name)?.points,
  more: unnamed(configuration, own),
  features,
})

/** One profile by default, whose scheduler is named as upstream's. */
function completed(value: KubeSchedulerConfiguration): KubeSchedulerConfiguration {
  const { profiles = [] } = value
  if (profiles.length > 1 || profiles[0]?.schedulerName !== undefined) return value
  return { ...value, profiles: [{ ...profiles[0], schedulerName: "default-scheduler" }] }
}

/** The plugins of one's own that no profile enables or disables: they run in every profile. */
function unnamed({ profiles = [] }: KubeSchedulerConfiguration, own: readonly OwnPlugin[]): readonly PluginEntry[] {
  const named = new Set(
    profiles
      .flatMap(({ plugins = {} }) => Object.values(plugins))
      .flatMap((set) => [...(set?.enabled ?? []), ...(set?.disabled ?? [])])
      .map(({ name }) => name),
  )
  return own.filter(({ name }) => !named.has(name)).map(({ name, weight = 1 }) => ({ name, weight }))
}

function settingsOf(configuration: KubeSchedulerConfiguration, scheduler: ConfiguredScheduler): SchedulerSettings {
  const { profiles = [], percentageOfNodesToScore: percentage = 0, extenders = [] } = configuration
  const context = pluginsContext(configuration, scheduler)
  return {
    profiles: profiles.map((profile) => ({
      name: profile.schedulerName!,
      percentageOfNodesToScore: profile.percentageOfNodesToScore ?? percentage,
      plugins: pluginsOfProfile(profile.plugins ?? {}, context, ""),
      args: argsOf(profile),
      ownArgs: new Map(
        (profile.pluginConfig ?? []).filter(({ name }) => !hasArgs(name)).map(({ name, args }) => [name, args]),
      ),
    })),
    initialBackoffMs: configuration.podInitialBackoffSeconds * 1000,
    maxBackoffMs: configuration.podMaxBackoffSeconds * 1000,
    extenders,
    meaningless: [
      ...MEANINGLESS.filter((field) => isGiven(configuration, field)),
      // A search on a node has a bound of its own, in steps.
      ...(profiles.some((profile) => argsOf(profile).DynamicResources.filterTimeout !== "10s")
        ? ["filterTimeout"]
        : []),
    ],
  }
}

/** What one process does not need: its schedulers share threads, connections and the election of the server. */
const MEANINGLESS = ["parallelism", "leaderElection", "clientConnection", "delayCacheUntilActive"] as const

const BY_DEFAULT = decodeMessage(typed(KubeSchedulerConfiguration), {}).object as Readonly<Record<string, unknown>>

const isGiven = (configuration: KubeSchedulerConfiguration, field: (typeof MEANINGLESS)[number]): boolean =>
  JSON.stringify(configuration[field]) !== JSON.stringify(BY_DEFAULT[field])

function argsOf({ pluginConfig = [] }: KubeSchedulerProfile): ArgsOfPlugins {
  const given = new Map(pluginConfig.map(({ name, args }) => [name, args]))
  return Object.fromEntries(
    (Object.keys(ARGS) as PluginWithArgs[]).map((name) => [name, decodedArgs(name, given.get(name), "").args]),
  ) as unknown as ArgsOfPlugins
}

/** Decodes the arguments of a plugin strictly, and sets their defaults. */
function decodedArgs(
  plugin: PluginWithArgs,
  args: unknown,
  path: string,
): { readonly args: ArgsOfPlugins[PluginWithArgs] | undefined; readonly causes: readonly Cause[] } {
  const refused = (field: string, message: string) => ({ args: undefined, causes: [{ field, message }] })
  if (args !== undefined && args !== null && !isJsonObject(args)) return refused(path, "must be a map")
  const { apiVersion, kind, ...given } = (args ?? {}) as Readonly<Record<string, unknown>>
  if (kind !== undefined && kind !== `${plugin}Args`)
    return refused(at(path, "kind"), `Invalid value: ${JSON.stringify(kind)}: has to match plugin args: ${plugin}Args`)
  if (apiVersion !== undefined && apiVersion !== "kubescheduler.config.k8s.io/v1")
    return refused(
      at(path, "apiVersion"),
      `Invalid value: ${JSON.stringify(apiVersion)}: must be kubescheduler.config.k8s.io/v1`,
    )
  try {
    const { object, faults } = decodeMessage(typed(ARGS[plugin]), given)
    if (faults.length > 0)
      return {
        args: undefined,
        causes: faults.map((fault) => {
          const field = /^unknown field "(.*)"$/.exec(fault)?.[1] ?? ""
          const known = field.includes(".") ? [] : Object.keys(ARGS[plugin].fields)
          return { field: at(path, field), message: `this field is not known${didYouMean(field, known)}` }
        }),
      }
    const complete = completeArgs(plugin, object as object) as ArgsOfPlugins[PluginWithArgs]
    return { args: complete, causes: argsFaults(plugin, complete as never, path) }
  } catch (err) {
    if (err instanceof DecodeError) return refused(path, err.message)
    throw err
  }
}
