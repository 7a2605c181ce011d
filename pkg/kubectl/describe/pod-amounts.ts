import { addQuantities, compareQuantities, quantity, type Quantity } from "../../apimachinery/scalars/quantity.ts"
import type { Container } from "../../api/core/v1/container/container.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { ContainerStatus } from "../../api/core/v1/pod/podstatus.ts"

/** Quantities by the names of resources. */
export type Amounts = Map<string, Quantity>

export interface AmountsOptions {
  /** Whether what containers have counts where it is more than what they ask for, as while a pod is resized. */
  readonly fromStatus: boolean
}

type Side = "requests" | "limits"
type Texts = Readonly<Record<string, string>> | undefined

/**
 * Returns what a pod requests, or its limits: the sum of its containers and sidecars, or what an init container needs
 * beside the sidecars before it where that is more; the amounts of the pod itself instead, where it has them; and its
 * overhead. Source: PodRequests and PodLimits in component-helpers resource/helpers.go.
 */
export function podAmounts(pod: Pod, side: Side, { fromStatus }: AmountsOptions): Amounts {
  const { containers = [], initContainers = [], resources, overhead } = pod.spec
  const statuses = fromStatus
    ? [...(pod.status.containerStatuses ?? []), ...(pod.status.initContainerStatuses ?? [])]
    : []
  const total: Amounts = new Map()
  for (const container of containers) add(total, effective(pod, container, side, statuses))
  const sidecars: Amounts = new Map()
  const peak: Amounts = new Map()
  for (const container of initContainers) {
    if (container.restartPolicy === "Always") {
      const own = effective(pod, container, side, statuses)
      add(total, own)
      add(sidecars, own)
      raise(peak, sidecars)
    } else {
      const own = amounts(container.resources?.[side])
      add(own, sidecars)
      raise(peak, own)
    }
  }
  raise(total, peak)
  for (const [name, text] of Object.entries(resources?.[side] ?? {}))
    if (isPodLevel(name)) total.set(name, quantity(text))
  for (const [name, text] of Object.entries(overhead ?? {})) {
    // Overhead raises limits only where there are some.
    const limit = total.get(name)
    if (side === "limits" && (limit === undefined || limit.nano === 0n)) continue
    add(total, new Map([[name, quantity(text)]]))
  }
  return total
}

const isPodLevel = (name: string): boolean => name === "cpu" || name === "memory" || name.startsWith("hugepages-")

const amounts = (texts: Texts): Amounts =>
  new Map(Object.entries(texts ?? {}).map(([name, text]) => [name, quantity(text)]))

/** Returns what counts of a container: the most that it wants, was given or has. */
function effective({ status }: Pod, container: Container, side: Side, statuses: readonly ContainerStatus[]): Amounts {
  const wanted = amounts(container.resources?.[side])
  const reported = statuses.findLast(({ name }) => name === container.name)
  if (!reported?.resources) return wanted
  const had = amounts(reported.resources[side])
  if (side === "requests") raise(had, amounts(reported.allocatedResources))
  const pending = (status.conditions ?? []).find(({ type }) => type === "PodResizePending")
  if (pending?.reason === "Infeasible") return had
  raise(wanted, had)
  return wanted
}

/** Adds amounts to a sum. */
export function add(sum: Amounts, more: Amounts): void {
  for (const [name, amount] of more) {
    const before = sum.get(name)
    sum.set(name, before === undefined ? amount : addQuantities(before, amount))
  }
}

function raise(to: Amounts, others: Amounts): void {
  for (const [name, amount] of others) {
    const before = to.get(name)
    if (before === undefined || compareQuantities(amount, before) > 0) to.set(name, amount)
  }
}
