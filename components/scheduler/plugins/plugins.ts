import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { DEFAULT_ARGS } from "../config/default-args.ts"
import type { ArgsOfPlugins } from "../config/plugin-args.ts"
import type { DeviceObjects } from "../dynamicresources/device-objects.ts"
import type { Plugin, Weighted } from "../framework.ts"
import type { VolumeObjects } from "../volumebinding/volume-objects.ts"
import { dynamicResources } from "./dynamicresources.ts"
import { interPodAffinity } from "./interpodaffinity.ts"
import { imageLocality, type ImageSpread } from "./imagelocality.ts"
import { nodeAffinity } from "./nodeaffinity.ts"
import { nodeDeclaredFeatures } from "./nodedeclaredfeatures.ts"
import { nodeName } from "./nodename.ts"
import { nodePorts } from "./nodeports.ts"
import { balancedAllocation, nodeResourcesFit } from "./noderesources.ts"
import { nodeVolumeLimits } from "./nodevolumelimits.ts"
import { nodeUnschedulable } from "./nodeunschedulable.ts"
import { podTopologySpread } from "./podtopologyspread.ts"
import type { NamespaceLabels } from "./pod-terms.ts"
import { schedulingGates } from "./schedulinggates.ts"
import { taintToleration } from "./tainttoleration.ts"
import { volumeBinding } from "./volumebinding.ts"
import { volumeRestrictions } from "./volumerestrictions.ts"
import { volumeZone } from "./volumezone.ts"

/** What plugins read of the cluster, beside pods and nodes. */
export interface PluginObjects {
  readonly images: ImageSpread
  readonly namespaceLabels: NamespaceLabels
  readonly volumes: VolumeObjects
  readonly devices: DeviceObjects
}

/**
 * Every plugin, in the order in which filters run, with the weight of its score.
 * @param args arguments of a profile
 * @param ignored extended resources that extenders check
 * Source: apis/config/v1/default_plugins.go.
 */
export const defaultPlugins = (
  { images, namespaceLabels, volumes, devices }: PluginObjects,
  context: { readonly clock: Pick<Clock, "now">; readonly random: Random },
  args: ArgsOfPlugins = DEFAULT_ARGS,
  ignored: readonly string[] = [],
): readonly Weighted[] => [
  { plugin: schedulingGates, weight: 0 },
  { plugin: nodeUnschedulable, weight: 0 },
  { plugin: nodeName, weight: 0 },
  { plugin: taintToleration, weight: 3 },
  { plugin: nodeAffinity(args.NodeAffinity), weight: 2 },
  { plugin: nodeDeclaredFeatures, weight: 0 },
  { plugin: nodePorts, weight: 0 },
  {
    plugin: nodeResourcesFit((name) => devices.classOf(name) !== undefined, args.NodeResourcesFit, ignored),
    weight: 1,
  },
  { plugin: volumeRestrictions(volumes), weight: 0 },
  { plugin: nodeVolumeLimits(volumes), weight: 0 },
  { plugin: volumeBinding(volumes, args.VolumeBinding), weight: 0 },
  { plugin: volumeZone(volumes), weight: 0 },
  { plugin: dynamicResources(devices, context, args.DynamicResources), weight: 2 },
  { plugin: podTopologySpread(args.PodTopologySpread), weight: 2 },
  { plugin: interPodAffinity(namespaceLabels, args.InterPodAffinity), weight: 2 },
  { plugin: balancedAllocation(args.NodeResourcesBalancedAllocation), weight: 1 },
  { plugin: imageLocality(images), weight: 1 },
]

export const pluginsOf = (weighted: readonly Weighted[]): readonly Plugin[] => weighted.map(({ plugin }) => plugin)
