import type { Usage, UsageMeter } from "../../usage.ts"
import type { SimulatedContainers } from "../containers/containers.ts"
import type { SimulatedUse } from "../containers/stats.ts"

/**
 * Returns the memory and processor time that behaviours of images say are used. `startedAt` is when the machine
 * started.
 */
export function simulatedUsage(containers: SimulatedContainers, startedAt: number): UsageMeter {
  return {
    machine: async () => ({
      ...usageOf(containers.inUse),
      interfaces: [],
      swapCapacityBytes: 0,
      bootedAt: startedAt,
    }),
    group: async (path) =>
      usageOf(path.length === 1 ? containers.inUse : containers.useOfPod(path.at(-1)!.replace(/^pod/, ""))),
    container: async (_pod, id) => usageOf(containers.useOfContainer(id)),
    interfaces: async () => [],
  }
}

function usageOf(use: SimulatedUse): Usage
function usageOf(use: SimulatedUse | undefined): Usage | undefined
function usageOf(use: SimulatedUse | undefined): Usage | undefined {
  if (use === undefined) return undefined
  const { memory: bytes, cpuNanoseconds: nanoseconds } = use
  return {
    cpu: { nanoseconds, userNanoseconds: nanoseconds, systemNanoseconds: 0 },
    memory: {
      usage: bytes,
      workingSet: bytes,
      rss: bytes,
      cache: 0,
      mappedFiles: 0,
      pageFaults: 0,
      majorPageFaults: 0,
      failures: 0,
    },
  }
}
