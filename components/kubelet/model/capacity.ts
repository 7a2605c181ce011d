import type { NodeStatus } from "../../../pkg/api/core/v1/node/nodestatus.ts"
import { isExtendedResource, isHugePages } from "../../../pkg/api/core/v1/resources/resource-names.ts"
import { formatQuantity, fromMilli, fromUnits } from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { FilesystemSpace, Machine } from "../runtime/runtime.ts"
import type { KubeletTuning } from "./tuning.ts"
import { limitOf } from "./thresholds.ts"

/** Quantities by the name of the resource. */
type Amounts = Readonly<Record<string, string>>

export interface NodeResources {
  readonly capacity: Amounts
  readonly allocatable: Amounts
}

export interface NodeResourcesRequest {
  readonly machine: Pick<Machine, "cpus" | "memoryBytes" | "hugepages">
  readonly disk: Pick<FilesystemSpace, "capacityBytes">
  readonly maxPods: number
  readonly tuning: Pick<KubeletTuning, "eviction" | "reserved">
  /** The stored status: others may have added resources that the kubelet does not know. */
  readonly before: Pick<NodeStatus, "capacity" | "allocatable">
  /** The resources of device plugins. */
  readonly devices?: NodeResources
}

/**
 * Returns the capacity of the node, and the allocatable part: all but what is reserved and what eviction keeps free. A
 * resource that another program has added to the capacity stays there, and all of it is allocatable; an extended
 * resource that is removed from the capacity is no longer allocatable. Source: pkg/kubelet/nodestatus/setters.go
 * MachineInfo, reconcileHugePageResource in pkg/kubelet/kubelet_node_status.go.
 */
export function nodeResources({
  machine,
  disk,
  maxPods,
  tuning,
  before,
  devices,
}: NodeResourcesRequest): NodeResources {
  const hugepages = Object.fromEntries(
    Object.entries(machine.hugepages).map(([size, bytes]) => [`hugepages-${size}`, binary(bytes)]),
  )
  const reservedByHugepages = Object.values(machine.hugepages).reduce((a, b) => a + b, 0)
  const { eviction, reserved } = tuning
  const kept = (signal: "memory.available" | "nodefs.available", capacity: number) =>
    limitOf(eviction.hard[signal] ?? { count: 0 }, capacity)
  const memory = machine.memoryBytes - reservedByHugepages - reserved.memoryBytes
  const storage = disk.capacityBytes - reserved.diskBytes - kept("nodefs.available", disk.capacityBytes)
  const milli = Math.max(0, machine.cpus * 1000 - reserved.cpuMilli)
  const common = { cpu: String(machine.cpus), pods: String(maxPods), ...hugepages }
  const own: NodeResources = {
    capacity: {
      ...devices?.capacity,
      ...common,
      memory: binary(machine.memoryBytes),
      "ephemeral-storage": binary(disk.capacityBytes),
    },
    allocatable: {
      ...devices?.allocatable,
      ...common,
      cpu: formatQuantity(fromMilli(milli)),
      memory: binary(Math.max(0, Math.floor(memory - kept("memory.available", machine.memoryBytes)))),
      "ephemeral-storage": binary(Math.max(0, Math.floor(storage))),
    },
  }
  const others = only(before.capacity, (name) => !(name in own.capacity) && !isHugePages(name))
  const left = only(
    before.allocatable,
    (name) => !(name in own.allocatable) && !isHugePages(name) && !isExtendedResource(name),
  )
  return { capacity: { ...others, ...own.capacity }, allocatable: { ...left, ...others, ...own.allocatable } }
}

const only = (amounts: Amounts | undefined, wanted: (name: string) => boolean): Amounts =>
  Object.fromEntries(Object.entries(amounts ?? {}).filter(([name]) => wanted(name)))

/** Formats bytes as upstream does: in the largest of Ki, Mi … that gives a whole number. */
function binary(bytes: number): string {
  let text = texts.get(bytes)
  if (text !== undefined) return text
  text = formatQuantity(fromUnits(bytes, "BinarySI"))
  if (texts.size >= MOST_TEXTS) texts.clear()
  texts.set(bytes, text)
  return text
}

/** The amounts of machines do not change, and those of a thousand simulated nodes are the same. */
const texts = new Map<number, string>()
const MOST_TEXTS = 64
