import type { MachineUsage, Usage, UsageMeter } from "../../usage.ts"
import type { SimulatedContainers } from "../containers/containers.ts"
import type { SimulatedUse } from "../containers/stats.ts"

/** The memory and processor time that behaviours of images say are used. */
export class SimulatedUsage implements UsageMeter {
  readonly #containers: SimulatedContainers
  readonly #startedAt: number

  /** `startedAt` is when the machine started. */
  constructor(containers: SimulatedContainers, startedAt: number) {
    this.#containers = containers
    this.#startedAt = startedAt
  }

  async machine(): Promise<MachineUsage> {
    return {
      ...usageOf(this.#containers.inUse),
      interfaces: [],
      swapCapacityBytes: 0,
      bootedAt: this.#startedAt,
    }
  }

  async group(path: readonly string[]): Promise<Usage | undefined> {
    const containers = this.#containers
    return usageOf(path.length === 1 ? containers.inUse : containers.useOfPod(path.at(-1)!.replace(/^pod/, "")))
  }

  async container(_pod: readonly string[], id: string): Promise<Usage | undefined> {
    return usageOf(this.#containers.useOfContainer(id))
  }

  async interfaces(): Promise<readonly []> {
    return []
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
