/**
 * The module `k3ts/scheduler`, for plugins of the scheduler; docs/scheduler.md shows how. `k3ts server
 * --scheduler-plugin FILE` brings it along, and in `k3ts/testing` it is part of the package.
 *
 *     import { definePlugin } from "k3ts/scheduler"
 *
 *     export default definePlugin({
 *       name: "OnlyBlue",
 *       filter: (_pod, { node }) => (node.metadata.labels?.color === "blue" ? undefined : "node(s) were not blue"),
 *     })
 */
export {
  definePlugin,
  scale,
  scaleDown,
  type Cycle,
  type NodeView,
  type PodSelection,
  type Refusal,
  type ResourceAmounts,
  type SchedulerPlugin,
  type SchedulingEvent,
  type Verdict,
} from "./plugin.ts"
export type { ExtensionPoint } from "./extension-points.ts"
export type { Node } from "../api/core/v1/node/node.ts"
export type { Pod } from "../api/core/v1/pod/pod.ts"
