import type { ContainerStats, PodSandboxStats } from "../../../../../pkg/cri/stats.ts"
import type { SimulatedContainer } from "./container.ts"
import { listedSandbox, type Sandbox } from "./sandbox.ts"

/** Memory in use now, in bytes, and processor time since the containers started, in nanoseconds. */
export interface SimulatedUse {
  readonly memory: number
  readonly cpuNanoseconds: number
}

/** Adds up the usage of containers. */
export function sumOf(containers: Iterable<SimulatedContainer>): SimulatedUse {
  let [memory, cpuNanoseconds] = [0, 0]
  for (const container of containers) {
    memory += container.memory
    cpuNanoseconds += container.cpuNanoseconds()
  }
  return { memory, cpuNanoseconds }
}

/** Returns the usage of a container at `now`, in milliseconds. */
export function containerStats(container: SimulatedContainer, now: number): ContainerStats {
  const { id, memory, config } = container
  const timestamp = now * 1e6
  const bytes = { value: memory }
  return {
    attributes: {
      id,
      metadata: { name: config.metadata?.name ?? "", attempt: config.metadata?.attempt ?? 0 },
      labels: config.labels ?? {},
      annotations: config.annotations ?? {},
    },
    cpu: {
      timestamp,
      usageCoreNanoSeconds: { value: container.cpuNanoseconds() },
      usageNanoCores: undefined,
      psi: undefined,
    },
    memory: {
      timestamp,
      workingSetBytes: bytes,
      usageBytes: bytes,
      rssBytes: bytes,
      availableBytes: undefined,
      pageFaults: undefined,
      majorPageFaults: undefined,
      psi: undefined,
    },
    writableLayer: undefined,
    swap: undefined,
    io: undefined,
  }
}

/** Returns the usage of a sandbox's running containers at `now`, in milliseconds. */
export function sandboxStats(sandbox: Sandbox, now: number): PodSandboxStats {
  const { id, metadata, labels, annotations } = listedSandbox(sandbox)
  const containers = sandbox.containers
    .filter(({ running }) => running)
    .map((container) => containerStats(container, now))
  return {
    attributes: { id, metadata, labels, annotations },
    linux: { cpu: undefined, memory: undefined, network: undefined, process: undefined, containers, io: undefined },
  }
}
