import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  quantity,
  type Quantity,
} from "../../../../../apimachinery/scalars/quantity.ts"
import type { PodSpec } from "../podspec.ts"
import type { ResourceRequirements } from "../../resources/resources.ts"

/**
 * Whether a resource may be requested at the level of the pod. Source: component-helpers/resource/helpers.go
 * IsSupportedPodLevelResource.
 */
export const isOfPods = (name: string): boolean => name === "cpu" || name === "memory" || isHugePages(name)
const isHugePages = (name: string): boolean => name.startsWith("hugepages-")

/**
 * Returns the most that the containers of a pod request at one time: those of containers and sidecars are added up;
 * each other init container runs beside the sidecars that were started before it. Source:
 * component-helpers/resource/helpers.go AggregateContainerRequests, AggregateContainerLimits.
 */
export function together(
  { containers, initContainers = [] }: PodSpec,
  list: "requests" | "limits",
  name: string,
): Quantity {
  const of = ({ resources }: PodSpec["containers"][number]): Quantity => quantity(resources[list]?.[name] ?? "0")
  let [sidecars, peak] = [NOTHING, NOTHING]
  for (const container of initContainers) {
    if (container.restartPolicy === "Always") sidecars = addQuantities(sidecars, of(container))
    else peak = larger(peak, addQuantities(sidecars, of(container)))
  }
  return larger(containers.map(of).reduce(addQuantities, sidecars), peak)
}
/** Returns whether any container has the resource in its requests or limits, even with the amount 0. */
export const isAskedFor = (
  { containers, initContainers = [] }: PodSpec,
  list: "requests" | "limits",
  name: string,
): boolean =>
  [...containers, ...initContainers].some(
    ({ resources }) => resources[list] !== undefined && Object.hasOwn(resources[list], name),
  )

const NOTHING = quantity("0")
const larger = (a: Quantity, b: Quantity): Quantity => (compareQuantities(a, b) < 0 ? b : a)

/**
 * Returns the pod-level resources completed from those of the containers: limits of huge pages; and, where there are
 * limits, requests, which become the limits when no container has any. Returns the same value when nothing is added.
 * Source: defaultHugePagePodLimits and defaultPodRequests in pkg/apis/core/v1/defaults.go, KEP-2837.
 */
export function completedPodResources(spec: PodSpec): PodSpec["resources"] {
  const { resources } = spec
  if (resources === undefined) return undefined
  const { limits = {}, requests = {} } = resources
  if (isEmpty(limits) && isEmpty(requests)) return resources
  const allLimits = {
    ...missing(
      spec,
      "limits",
      (name) => isHugePages(name) && !Object.hasOwn(requests, name) && !Object.hasOwn(limits, name),
    ),
    ...limits,
  }
  const ofContainers = isEmpty(allLimits)
    ? {}
    : missing(spec, "requests", (name) => (name === "cpu" || name === "memory") && !Object.hasOwn(requests, name))
  const allRequests = {
    ...Object.fromEntries(Object.entries(allLimits).filter(([name]) => isOfPods(name))),
    ...ofContainers,
    ...requests,
  }
  if (sizeOf(allLimits) === sizeOf(limits) && sizeOf(allRequests) === sizeOf(requests)) return resources
  return { ...resources, ...(isEmpty(allLimits) ? {} : { limits: allLimits }), requests: allRequests }
}

/** Returns the amounts of all containers, of the resources that are wanted and that any container names. */
function missing(spec: PodSpec, list: "requests" | "limits", isWanted: (name: string) => boolean): Amounts {
  const names = new Set(
    [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ resources }) => Object.keys(resources[list] ?? {})),
  )
  return Object.fromEntries(
    [...names].filter(isWanted).map((name) => [name, formatQuantity(together(spec, list, name))]),
  )
}
type Amounts = NonNullable<ResourceRequirements["requests"]>
const sizeOf = (amounts: Amounts): number => Object.keys(amounts).length
const isEmpty = (amounts: Amounts): boolean => sizeOf(amounts) === 0
