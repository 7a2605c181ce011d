import type { Taint } from "../../../../pkg/api/core/v1/node/nodespec.ts"
import { parseQuantity, unitsOf } from "../../../../pkg/apimachinery/scalars/quantity.ts"
import { type Duration, milliseconds } from "../time/duration.ts"
import type { SimulatedNodeSpec } from "../../node/simulated-node.ts"
import { TestClusterError } from "../caller.ts"
import { SYNC_FREQUENCY_MS } from "../../../kubelet/model/config.ts"

/** The settings of a node, from which its addresses follow by its index. */
export type NodeSpec = Omit<SimulatedNodeSpec, "ips">

/**
 * Returns the settings of the node with this index, with defaults. @throws TestClusterError with the option, its value
 * and what to change
 */
export function nodeSpec(
  { name, capacity = {}, labels = {}, taints = [], syncFrequency = SYNC_FREQUENCY_MS }: NodeOptions,
  index: number,
): NodeSpec {
  const own = name ?? `node-${index}`
  if (!NAME.test(own))
    throw new TestClusterError(
      `Cannot name a node ${JSON.stringify(own)}: expected lower-case letters, digits, "-" and "."`,
    )
  return {
    name: own,
    labels,
    taints,
    syncFrequencyMs: milliseconds(syncFrequency),
    cpus: amount(capacity.cpu ?? 8, "cpu", own),
    memoryBytes: amount(capacity.memory ?? "32Gi", "memory", own),
    diskBytes: amount(capacity["ephemeral-storage"] ?? "100Gi", "ephemeral-storage", own),
    maxPods: amount(capacity.pods ?? 110, "pods", own),
  }
}

export interface NodeOptions {
  /** `node-0`, `node-1` … by default. */
  readonly name?: string
  /** What the machine has. By default 8 CPUs, 32Gi of memory, 110 pods and 100Gi of disk. */
  readonly capacity?: {
    readonly cpu?: string | number
    readonly memory?: string
    readonly pods?: string | number
    readonly "ephemeral-storage"?: string
  }
  readonly labels?: Readonly<Record<string, string>>
  readonly taints?: readonly Taint[]
  /**
   * How long volumes of running pods may lag behind their ConfigMaps and Secrets, with up to half as much in addition
   * at random; `1m` by default, 0 for no lag.
   */
  readonly syncFrequency?: Duration
}

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

function amount(value: string | number, resource: string, node: string): number {
  const parsed = parseQuantity(String(value))
  if (parsed === undefined || parsed.nano < 0n)
    throw new TestClusterError(
      `Cannot give node ${JSON.stringify(node)} ${resource} ${JSON.stringify(value)}: expected a quantity ` +
        `such as "4" or "16Gi"`,
    )
  return unitsOf(String(value))
}
