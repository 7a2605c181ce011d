/**
 * Finds which plugins of a profile run at each extension point. Source: apis/config/v1/default_plugins.go mergePlugins;
 * framework/runtime/framework.go NewFramework, expandMultiPointPlugins.
 */
import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import { at, invalidValue } from "../../../pkg/apimachinery/validation/field-errors.ts"
import type { Features } from "../../../pkg/component/features.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"
import { didYouMean } from "../../../pkg/names/suggest.ts"
import { IN_TREE, PLUGIN_POINTS, type PluginPoint, type PointsOf } from "./in-tree-plugins.ts"
import type { PluginEntry, PluginSet, PluginSets } from "./scheduler-configuration.ts"

/** The names of the plugins that run at each extension point, in their order. */
export type EnabledPlugins = Readonly<Record<PluginPoint, readonly string[]>>

export interface ProfilePlugins {
  readonly enabled: EnabledPlugins
  /** The weight of each plugin's score, of nodes or of placements. */
  readonly weights: ReadonlyMap<string, number>
}

/** The plugins that run without a configuration. */
const defaultsFor = (features: Features): readonly PluginEntry[] =>
  Object.entries(IN_TREE)
    .filter(([, { gate }]) => gate === undefined || features[gate])
    .map(([name, { weight }]) => (weight === undefined ? { name } : { name, weight }))

/** What the plugins of a profile depend on, beside its own part of the configuration. */
export interface PluginsContext {
  readonly pointsOf: PointsOf
  /** Plugins that run in every profile, as if they were in multiPoint. */
  readonly more: readonly PluginEntry[]
  readonly features: Features
}

/**
 * Returns the plugins of a profile, and what is wrong with them.
 * @param path where `sets` are in the configuration
 */
export function pluginsOfProfile(
  sets: PluginSets,
  { pointsOf, more, features }: PluginsContext,
  path: string,
): ProfilePlugins & { readonly causes: readonly Cause[] } {
  const multi = merged([...defaultsFor(features), ...more], sets.multiPoint)
  const causes = enabledFaults(sets, pointsOf, features, path)
  const enabled = Object.fromEntries(
    PLUGIN_POINTS.map((point) => [point, namesAt(point, sets[point], multi, pointsOf)]),
  ) as unknown as EnabledPlugins
  const weights = new Map<string, number>()
  for (const { name, weight } of [...(sets.score?.enabled ?? []), ...(sets.placementScore?.enabled ?? []), ...multi])
    if (!weights.has(name)) weights.set(name, weight === undefined || weight === 0 ? 1 : weight)
  if (causes.length === 0) pushAll(causes, countFaults(enabled, path))
  return { enabled, weights, causes }
}

/** The plugins by default, with the changes of `set`: those that are configured again keep their place. */
function merged(defaults: readonly PluginEntry[], set: PluginSet = {}): readonly PluginEntry[] {
  const disabled = new Set(set.disabled?.map(({ name }) => name))
  const custom = new Map((set.enabled ?? []).map((entry) => [entry.name, entry]))
  const kept = disabled.has("*") ? [] : defaults.filter(({ name }) => !disabled.has(name))
  const known = new Set(kept.map(({ name }) => name))
  return [
    ...kept.map((entry) => custom.get(entry.name) ?? entry),
    ...(set.enabled ?? []).filter(({ name }) => !known.has(name)),
  ]
}

/**
 * Returns who runs at an extension point: first those of multiPoint that are configured for this point too, then the
 * others of multiPoint, then those that are only configured for this point.
 */
function namesAt(
  point: PluginPoint,
  set: PluginSet = {},
  multi: readonly PluginEntry[],
  pointsOf: PointsOf,
): readonly string[] {
  const enabled = (set.enabled ?? []).map(({ name }) => name)
  const disabled = new Set(set.disabled?.map(({ name }) => name))
  if (disabled.has("*")) return enabled
  const expanded = multi
    .map(({ name }) => name)
    .filter((name) => pointsOf(name)?.includes(point) === true && !disabled.has(name))
  // The queue is sorted by one: by that of a plugin of one's own where no configuration says otherwise.
  if (point === "queueSort" && enabled.length === 0 && expanded.length > 1)
    return expanded.filter((name) => !Object.hasOwn(IN_TREE, name))
  return [
    ...enabled.filter((name) => expanded.includes(name)),
    ...expanded.filter((name) => !enabled.includes(name)),
    ...enabled.filter((name) => !expanded.includes(name)),
  ]
}

function enabledFaults(sets: PluginSets, pointsOf: PointsOf, features: Features, path: string): Cause[] {
  const causes: Cause[] = []
  for (const [point, set] of Object.entries(sets) as [keyof PluginSets, PluginSet | undefined][]) {
    const names = (set?.enabled ?? []).map(({ name }) => name)
    for (const [i, name] of names.entries()) {
      const fault = faultOf(name, point, pointsOf, names.slice(0, i)) ?? gateFault(name, features)
      if (fault !== undefined) causes.push(invalidValue(at(path, point, "enabled", i, "name"), name, fault))
    }
  }
  return causes
}

const isPoint = (point: string): point is PluginPoint => (PLUGIN_POINTS as readonly string[]).includes(point)

/** Differs from upstream: there the plugin waits for PodGroups for ever, and the scheduler with it. */
const gateFault = (name: string, { GenericWorkload }: Features): string | undefined =>
  GenericWorkload || IN_TREE[name]?.gate === undefined
    ? undefined
    : "this plugin needs PodGroups: give --feature-gates GenericWorkload=true and --runtime-config " +
      "scheduling.k8s.io/v1alpha2=true"

function faultOf(name: string, point: string, pointsOf: PointsOf, before: readonly string[]): string | undefined {
  const points = pointsOf(name)
  if (points === undefined)
    return (
      `no such plugin${didYouMean(name, Object.keys(IN_TREE))}; plugins of one's own are added with ` +
      "--scheduler-plugin FILE"
    )
  if (before.includes(name)) return `plugin ${JSON.stringify(name)} already registered as ${JSON.stringify(point)}`
  if (point === "multiPoint") return undefined
  if (isPoint(point) && points.includes(point)) return undefined
  return `plugin ${JSON.stringify(name)} does not extend ${point} plugin: it extends ${points.join(", ")}`
}

function countFaults({ queueSort, bind }: EnabledPlugins, path: string): readonly Cause[] {
  return [
    ...(queueSort.length === 1
      ? []
      : [
          invalidValue(
            at(path, "queueSort"),
            queueSort,
            "exactly one plugin must sort the queue: disable PrioritySort where another one is enabled",
          ),
        ]),
    ...(bind.length > 0
      ? []
      : [invalidValue(at(path, "bind"), bind, "at least one plugin must bind pods: enable DefaultBinder")]),
  ]
}
