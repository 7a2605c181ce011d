import { command } from "../../command/command.ts"
import { defaultSubCommand } from "../../command/default-sub-command.ts"
import { topNodeCommand } from "./top-node.ts"
import { topPodCommand } from "./top-pod.ts"

/** Source: kubectl pkg/cmd/top. */
export const topCommand = command({
  use: "top",
  short: "Display resource (CPU/memory) usage",
  long: `
Display resource (CPU/memory) usage.

 Shows what nodes and pods use at present, as the metrics server knows it from the kubelet of each node. The metrics server must run in the cluster.

 The values are made for autoscalers, which need steady ones, so they differ from those of the tools of an operating system. They are good for a glance at what uses most, and for what an autoscaler sees; they are no monitoring.`,
  suggestFor: ["stats"],
  commands: [topNodeCommand, topPodCommand],
  run: defaultSubCommand("errOut"),
})
