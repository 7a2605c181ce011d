import type { ContainerRuntime, FilesystemSpace } from "../runtime/runtime.ts"

/**
 * Thresholds of node pressure. Source: pkg/kubelet/apis/config/v1beta1/defaults_linux.go for memory; k3s's values for
 * disks, which suit small machines.
 */
export const THRESHOLDS = {
  memoryBytes: 100 * 1024 * 1024,
  diskFraction: 0.05,
  inodesFraction: 0.05,
  pidFraction: 0.1,
} as const

export interface Pressure {
  readonly memory: boolean
  readonly disk: boolean
  readonly pid: boolean
}
export const NO_PRESSURE: Pressure = { memory: false, disk: false, pid: false }

/** Measures the free resources of the node. `folders` are on the file systems that count. */
export async function measurePressure({ machine }: ContainerRuntime, folders: readonly string[]): Promise<Pressure> {
  const [memory, processes, ...spaces] = await Promise.all([
    machine.availableMemory(),
    machine.processes(),
    ...folders.map((folder) => machine.space(folder)),
  ])
  return {
    memory: memory < THRESHOLDS.memoryBytes,
    disk: spaces.some(isFull),
    pid: processes.max > 0 && processes.max - processes.used < processes.max * THRESHOLDS.pidFraction,
  }
}

const isFull = ({ capacityBytes, availableBytes, inodes, inodesFree }: FilesystemSpace): boolean =>
  availableBytes < capacityBytes * THRESHOLDS.diskFraction ||
  (inodes > 0 && inodesFree < inodes * THRESHOLDS.inodesFraction)
