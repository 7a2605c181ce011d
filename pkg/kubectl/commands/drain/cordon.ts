import { command } from "../../command/command.ts"
import { dryRunOfNodes, nodeFlags, nodesOf, setUnschedulable } from "./nodes.ts"

const CHUNK = 500

/** Source: kubectl pkg/cmd/drain/drain.go. */
export const cordonCommand = command({
  use: "cordon NODE",
  noFlagsInUse: true,
  short: "Mark node as unschedulable",
  long: "Mark node as unschedulable.",
  example: '# Keep new pods off the node "foo"\nkubectl cordon foo',
  flags: nodeFlags(),
  async run(invocation) {
    const dryRun = dryRunOfNodes(invocation)
    await setUnschedulable(invocation, await nodesOf(invocation, "cordon NODE", CHUNK), true, dryRun)
  },
})

export const uncordonCommand = command({
  use: "uncordon NODE",
  noFlagsInUse: true,
  short: "Mark node as schedulable",
  long: "Mark node as schedulable.",
  example: '# Let new pods come to the node "foo" again\nkubectl uncordon foo',
  flags: nodeFlags(),
  async run(invocation) {
    const dryRun = dryRunOfNodes(invocation)
    await setUnschedulable(invocation, await nodesOf(invocation, "uncordon NODE", CHUNK), false, dryRun)
  },
})
