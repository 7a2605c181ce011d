import type { ContainerRuntime } from "../runtime/runtime.ts"
import type { EvictionTuning } from "./tuning.ts"
import { limitOf, SIGNALS, type Amount, type Signal } from "./thresholds.ts"

/** What the conditions of the node tell. */
export interface Pressure {
  readonly memory: boolean
  readonly disk: boolean
  readonly pid: boolean
}
export const NO_PRESSURE: Pressure = { memory: false, disk: false, pid: false }

/** How much there is of a resource of the node, and how much of that is free. */
export interface Observation {
  readonly available: number
  readonly capacity: number
}
/** Without what the machine does not tell. */
export type Observations = Readonly<Partial<Record<Signal, Observation>>>

/** Measures the free resources of the node. `folder` is on the file system that counts. */
export async function observe({ machine }: ContainerRuntime, folder: string): Promise<Observations> {
  const [memory, processes, space] = await Promise.all([
    machine.availableMemory(),
    machine.processes(),
    machine.space(folder),
  ])
  const disk = { available: space.availableBytes, capacity: space.capacityBytes }
  const inodes = { available: space.inodesFree, capacity: space.inodes }
  return {
    "memory.available": { available: memory, capacity: machine.memoryBytes },
    "nodefs.available": disk,
    "imagefs.available": disk,
    ...(space.inodes > 0 ? { "nodefs.inodesFree": inodes, "imagefs.inodesFree": inodes } : {}),
    ...(processes.max > 0
      ? { "pid.available": { available: processes.max - processes.used, capacity: processes.max } }
      : {}),
  }
}

/** Returns whether a signal is below a threshold. */
export function isBelow(observations: Observations, signal: Signal, amount: Amount | undefined): boolean {
  const observed = observations[signal]
  return amount !== undefined && observed !== undefined && observed.available < limitOf(amount, observed.capacity)
}

/**
 * Returns the pressure that the node's conditions tell: also that of soft thresholds before their grace has passed.
 * Source: pkg/kubelet/eviction/eviction_manager.go synchronize.
 */
export function pressureOf(observations: Observations, { hard, soft }: EvictionTuning): Pressure {
  const crossed = SIGNALS.filter(
    (signal) => isBelow(observations, signal, hard[signal]) || isBelow(observations, signal, soft[signal]?.amount),
  )
  return {
    memory: crossed.includes("memory.available"),
    disk: crossed.some((signal) => signal.startsWith("nodefs.") || signal.startsWith("imagefs.")),
    pid: crossed.includes("pid.available"),
  }
}
