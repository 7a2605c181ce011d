import type { Entry } from "./commands.ts"

/**
 * The commands of the npm package `k3ts`, which `hack/package` puts in the place of `COMMANDS`: what runs on every
 * JavaScript runtime. All others are those of a machine that is a node, and belong to the executable.
 */
export const COMMANDS: readonly Entry[] = [
  {
    name: "test-cluster",
    summary: "Run a command beside a cluster in memory",
    load: () => import("./test-cluster.ts"),
  },
  { name: "version", summary: "Show the version", load: () => import("./version.ts") },
]
