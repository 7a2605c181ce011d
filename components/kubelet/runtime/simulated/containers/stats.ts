import type { ContainerStats, PodSandboxStats } from "../../../../../pkg/cri/stats.ts"
import type { SimulatedContainer } from "./container.ts"
import { listedSandbox, type Sandbox } from "./sandbox.ts"

/** Bytes of memory in use now, and nanoseconds of processor time since the containers started. */
export interface SimulatedUse {
  readonly memory: number
  readonly cpuNanoseconds: number
}

/** Adds up what containers use. */
export function sumOf(containers: Iterable<SimulatedContainer>): SimulatedUse {
  let [memory, cpuNanoseconds] = [0, 0]
  for (const container of containers) {
    memory += container.memory
    cpuNanoseconds += container.cpuNanoseconds()
  }
  return { memory, cpuNanoseconds }
}

/** What a container uses at `now`, in milliseconds. */
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

/** What the running containers of a sandbox use at `now`, in milliseconds. */
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
