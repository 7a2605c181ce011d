import type { Entry } from "./commands.ts"

/**
 * The commands of the npm package `k3ts`, which `hack/package` puts in the place of those of `commands.ts`: what runs
 * on every JavaScript runtime. All others are those of a machine that is a node.
 */

export const WHERE_OTHERS_ARE = "; this is the npm package: commands of a node are in the executable k3ts alone"

export const COMMANDS: readonly Entry[] = [
  {
    name: "test-cluster",
    summary: "Run a command beside a cluster in memory",
    load: () => import("./test-cluster.ts"),
  },
  { name: "version", summary: "Show the version", load: () => import("./version.ts") },
]
