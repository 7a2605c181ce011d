import { failed, type Plugin, type Reservation, type Weighted } from "../framework.ts"
import type { ExtensionPoint } from "../../../pkg/scheduler-plugin/extension-points.ts"
import type { ProfilePlugins } from "./plugin-sets.ts"

/**
 * Returns the plugins of a profile, in the order of their filters: each with only what is enabled of it. Differs from
 * upstream: plugins whose verdicts are cached (node-verdicts.ts) come before the others.
 * @param all every plugin that is part of the scheduler
 */
export function pluginsIn(all: readonly Weighted[], { enabled, weights }: ProfilePlugins): readonly Weighted[] {
  const order = [...new Set([...enabled.filter, ...enabled.preFilter, ...Object.values(enabled).flat()])]
  const byName = new Map(all.map(({ plugin }) => [plugin.name, plugin]))
  return order
    .map((name) => byName.get(name))
    .filter((plugin) => plugin !== undefined)
    .map((plugin) => ({
      plugin: enabledPart(plugin, (point) => enabled[point].includes(plugin.name)),
      weight: weights.get(plugin.name) ?? 0,
    }))
}

/** Plugins whose filter reads what their preFilter has found. */
const READS_PRE_FILTER: ReadonlySet<string> = new Set([
  "VolumeRestrictions",
  "NodePorts",
  "NodeVolumeLimits",
  "VolumeBinding",
  "VolumeZone",
  "DynamicResources",
  "PodTopologySpread",
  "InterPodAffinity",
  "NodeDeclaredFeatures",
])
/** Plugins whose score reads what their preScore has found. */
const READS_PRE_SCORE: ReadonlySet<string> = new Set(["PodTopologySpread", "InterPodAffinity"])

/** Returns the plugin with the methods of the enabled extension points only. */
function enabledPart(plugin: Plugin, isEnabled: (point: ExtensionPoint) => boolean): Plugin {
  const { preEnqueue, preFilter, filter, postFilter, preScore, score, scoreAll, normalize, reserve, ...rest } = plugin
  const hasState = preFilter === undefined || isEnabled("preFilter") || !READS_PRE_FILTER.has(plugin.name)
  const isScored =
    isEnabled("score") && (preScore === undefined || isEnabled("preScore") || !READS_PRE_SCORE.has(plugin.name))
  // ImageLocality and TaintToleration decide in preScore whether they are needed, which is not upstream's preScore.
  const ownPreScore = preScore !== undefined && (isEnabled("preScore") || !READS_PRE_SCORE.has(plugin.name))
  return {
    ...rest,
    ...(preEnqueue !== undefined && isEnabled("preEnqueue") ? { preEnqueue } : {}),
    ...(preFilter !== undefined && isEnabled("preFilter") ? { preFilter } : {}),
    ...(filter !== undefined && isEnabled("filter")
      ? { filter: hasState ? filter : () => failed(`reading "PreFilter${plugin.name}" from cycleState: not found`) }
      : {}),
    ...(postFilter !== undefined && isEnabled("postFilter") ? { postFilter } : {}),
    ...(isScored && ownPreScore ? { preScore } : {}),
    ...(isScored && score !== undefined ? { score } : {}),
    ...(isScored && scoreAll !== undefined ? { scoreAll } : {}),
    ...(isScored && normalize !== undefined ? { normalize } : {}),
    ...(reserve !== undefined && isEnabled("reserve")
      ? { reserve: isEnabled("preBind") ? reserve : withoutPreBind(reserve) }
      : {}),
  }
}

const withoutPreBind =
  (reserve: NonNullable<Plugin["reserve"]>): NonNullable<Plugin["reserve"]> =>
  (pod, node, context) => {
    const reservation = reserve(pod, node, context)
    return reservation && ({ ...reservation, preBind: () => Promise.resolve() } satisfies Reservation)
  }
