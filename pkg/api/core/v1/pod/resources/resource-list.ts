import {
  addQuantities,
  compareQuantities,
  quantity,
  type Quantity,
} from "../../../../../apimachinery/scalars/quantity.ts"
import type { Container } from "../../container/container.ts"
import type { Pod } from "../pod.ts"

/** Amounts by the names of resources. Source: v1.ResourceList, component-helpers resource/helpers.go. */
export type ResourceList = Readonly<Record<string, Quantity>>

export const resourceList = (texts: Readonly<Record<string, string>> = {}): ResourceList =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, quantity(text)]))

export function addResourceLists(a: ResourceList, b: ResourceList): ResourceList {
  const all: Record<string, Quantity> = { ...a }
  for (const [name, amount] of Object.entries(b))
    all[name] = all[name] === undefined ? amount : addQuantities(all[name], amount)
  return all
}

function maxResourceLists(a: ResourceList, b: ResourceList): ResourceList {
  const all: Record<string, Quantity> = { ...a }
  for (const [name, amount] of Object.entries(b))
    if (all[name] === undefined || compareQuantities(amount, all[name]) > 0) all[name] = amount
  return all
}

/**
 * Returns the most that the containers of a pod have at one time. Containers and sidecars run together; each other init
 * container runs beside the sidecars before it, so the largest such sum counts if it is larger. `own` gets
 * whether the container runs before the others and ends.
 */
export function containersResourceList(
  { containers, initContainers = [] }: Pick<Pod["spec"], "containers" | "initContainers">,
  own: (container: Container, runsBefore: boolean) => ResourceList,
): ResourceList {
  let sidecars: ResourceList = {}
  let peak: ResourceList = {}
  for (const container of initContainers) {
    const isSidecar = container.restartPolicy === "Always"
    const beside = addResourceLists(sidecars, own(container, !isSidecar))
    if (isSidecar) sidecars = beside
    peak = maxResourceLists(peak, beside)
  }
  const running = containers.reduce((all, container) => addResourceLists(all, own(container, false)), sidecars)
  return maxResourceLists(running, peak)
}
