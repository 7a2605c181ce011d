import {
  NODE_LIFECYCLE_DEFAULTS,
  type NodeLifecycleSettings,
} from "../../../components/controller-manager/nodelifecycle/settings.ts"
import { value, type FlagsOf } from "../cli/flags.ts"
import * as v from "../cli/values.ts"

const { graceMs, eviction } = NODE_LIFECYCLE_DEFAULTS

/** The flags of what happens to nodes that are lost. Source: kube-controller-manager's options. */
export const nodeLifecycleFlags = {
  "node-monitor-grace-period": value(
    v.duration.refine((seconds) => seconds > 0, "must be longer than 0s").prefault(`${graceMs / 1000}s`),
    "How long a node may be silent before it counts as lost; agents report every 10s",
    { placeholder: "DURATION", defaultText: `${graceMs / 1000}s` },
  ),
  "node-eviction-rate": value(
    v.rate.default(eviction.rate),
    "From how many lost nodes a second, in each zone, pods are evicted",
    { placeholder: "NUMBER" },
  ),
  "secondary-node-eviction-rate": value(
    v.rate.default(eviction.secondaryRate),
    "The same in a large zone of which many nodes are lost; in one that is not large no pods are evicted then",
    { placeholder: "NUMBER" },
  ),
  "large-cluster-size-threshold": value(
    v.count.default(eviction.largeZone),
    "A zone, or a cluster without zones, with more nodes is large",
    { placeholder: "COUNT" },
  ),
  "unhealthy-zone-threshold": value(
    v.rate.refine((part) => part <= 1, "must be a number from 0 to 1").default(eviction.unhealthyPart),
    "What part of the nodes of a zone is many, if it is at least three nodes",
    { placeholder: "NUMBER" },
  ),
} as const

export const nodeLifecycleOf = (flags: FlagsOf<typeof nodeLifecycleFlags>): NodeLifecycleSettings => ({
  graceMs: flags["node-monitor-grace-period"] * 1000,
  eviction: {
    rate: flags["node-eviction-rate"],
    secondaryRate: flags["secondary-node-eviction-rate"],
    largeZone: flags["large-cluster-size-threshold"],
    unhealthyPart: flags["unhealthy-zone-threshold"],
  },
})
