import { TestClusterError } from "../caller.ts"
import type { SimulatedNode } from "../nodes/node.ts"

export const noSuchNode = (name: string, nodes: ReadonlyMap<string, SimulatedNode>): TestClusterError =>
  new TestClusterError(
    `There is no node ${JSON.stringify(name)}: the simulated nodes are ${[...nodes.keys()].join(", ") || "none"}`,
  )

export const noSuchServer = (name: string, names: readonly string[]): TestClusterError =>
  new TestClusterError(
    `There is no server ${JSON.stringify(name)}: the servers are ` +
      `${names.join(", ") || "none of their own; start the cluster with `servers`"}`,
  )
