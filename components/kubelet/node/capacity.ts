import { formatQuantity, fromUnits } from "../../../pkg/apimachinery/quantity.ts"
import type { FilesystemSpace, Machine } from "../runtime/runtime.ts"
import { THRESHOLDS } from "./pressure.ts"

export interface NodeResources {
  readonly capacity: Readonly<Record<string, string>>
  readonly allocatable: Readonly<Record<string, string>>
}

/** What the node has and what pods may have of it: all but what eviction keeps free. Source: pkg/kubelet/nodestatus/setters.go MachineInfo. */
export function nodeResources(machine: Machine, disk: FilesystemSpace, maxPods: number): NodeResources {
  const hugepages = Object.entries(machine.hugepages).map(
    ([size, bytes]) => [`hugepages-${size}`, binary(bytes)] as const,
  )
  const reservedByHugepages = Object.values(machine.hugepages).reduce((a, b) => a + b, 0)
  const common = { cpu: String(machine.cpus), pods: String(maxPods), ...Object.fromEntries(hugepages) }
  return {
    capacity: { ...common, memory: binary(machine.memoryBytes), "ephemeral-storage": binary(disk.capacityBytes) },
    allocatable: {
      ...common,
      memory: binary(Math.max(0, machine.memoryBytes - reservedByHugepages - THRESHOLDS.memoryBytes)),
      "ephemeral-storage": String(Math.floor(disk.capacityBytes * (1 - THRESHOLDS.diskFraction))),
    },
  }
}

/** Upstream counts memory in Ki, whatever its size. */
const binary = (bytes: number): string =>
  bytes === 0 ? "0" : bytes % 1024 === 0 ? `${bytes / 1024}Ki` : formatQuantity(fromUnits(bytes, "BinarySI"))
