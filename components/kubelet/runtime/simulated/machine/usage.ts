import type { Usage, UsageMeter } from "../../usage.ts"
import type { SimulatedContainers } from "../containers/containers.ts"

/**
 * Memory is what the behaviours of images say; nothing that is simulated takes time on a processor. `startedAt`: of the
 * machine.
 */
export function simulatedUsage(containers: SimulatedContainers, startedAt: number): UsageMeter {
  return {
    machine: async () => ({
      ...usageOf(containers.memoryInUse),
      interfaces: [],
      swapCapacityBytes: 0,
      bootedAt: startedAt,
    }),
    group: async (path) =>
      usageOf(path.length === 1 ? containers.memoryInUse : containers.memoryOfPod(path.at(-1)!.replace(/^pod/, ""))),
    container: async (_pod, id) => usageOf(containers.memoryOfContainer(id)),
    interfaces: async () => [],
  }
}

function usageOf(bytes: number | undefined): Usage | undefined {
  if (bytes === undefined) return undefined
  return {
    cpu: { nanoseconds: 0, userNanoseconds: 0, systemNanoseconds: 0 },
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
