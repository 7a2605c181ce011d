import { compareQuantities, quantity } from "../../../../../apimachinery/scalars/quantity.ts"
import { byName } from "../../../../../cache/by-name.ts"
import type { Container } from "../../container/container.ts"
import type { Pod } from "../pod.ts"
import type { ContainerStatus } from "../podstatus.ts"

/**
 * What counts of a pod while it is resized: the largest of its desired, allocated and actual resources, since it may
 * have any of them. What the node can never give is not desired. Source: determineEffectiveRequests in
 * component-helpers resource/helpers.go.
 */

/** The conditions of a resize, which are absent when there is none. */
export const RESIZE_CONDITIONS = { pending: "PodResizePending", inProgress: "PodResizeInProgress" } as const

type Kind = "requests" | "limits"
type Texts = Readonly<Record<string, string>>

/** Returns the resources that count of a container. */
export function inForce({ status }: Pod, { name, resources }: Container, kind: Kind): Texts {
  const reported = byName(status.containerStatuses, name) ?? byName(status.initContainerStatuses, name)
  return largest(status, { wanted: resources[kind], reported, kind })
}

/** Whether the resources that the pod has may not be those of its spec. */
export function isBeingResized({ metadata: { generation = 0 }, status: { observedGeneration, conditions } }: Pod) {
  if (observedGeneration !== undefined && observedGeneration < generation) return true
  const { pending, inProgress } = RESIZE_CONDITIONS
  return conditions?.some(({ type, status }) => status === "True" && (type === pending || type === inProgress)) === true
}

/** Returns the spec of a pod with the requests that count. */
export function specInForce(pod: Pod): Pod["spec"] {
  const { spec, status } = pod
  const of = (container: Container): Container => ({
    ...container,
    resources: { ...container.resources, requests: inForce(pod, container, "requests") },
  })
  const { initContainers, resources } = spec
  const requests = largest(status, { wanted: resources?.requests, reported: status, kind: "requests" })
  return {
    ...spec,
    containers: spec.containers.map(of),
    ...(initContainers === undefined
      ? {}
      : {
          initContainers: initContainers.map((container) =>
            container.restartPolicy === "Always" ? of(container) : container,
          ),
        }),
    // The amounts in the status are sums over the containers where the pod has none of its own.
    ...(resources?.requests === undefined
      ? {}
      : { resources: { ...resources, requests: keep(requests, resources.requests) } }),
  }
}

const keep = (from: Texts, names: Texts): Texts =>
  Object.fromEntries(Object.keys(names).map((name) => [name, from[name] ?? names[name]!]))

interface ResizableResources {
  readonly wanted: Texts | undefined
  readonly reported: Pick<ContainerStatus, "resources" | "allocatedResources"> | undefined
  readonly kind: Kind
}

function largest({ conditions = [] }: Pod["status"], { wanted = {}, reported, kind }: ResizableResources): Texts {
  if (reported?.resources === undefined) return wanted
  const isInfeasible = conditions.some(
    (one) => one.type === RESIZE_CONDITIONS.pending && one.status === "True" && one.reason === "Infeasible",
  )
  const had = [reported.resources[kind] ?? {}, ...(kind === "requests" ? [reported.allocatedResources ?? {}] : [])]
  const found: Record<string, string> = {}
  for (const texts of isInfeasible ? had : [wanted, ...had])
    for (const [resource, text] of Object.entries(texts))
      if (found[resource] === undefined || compareQuantities(quantity(text), quantity(found[resource])) > 0)
        found[resource] = text
  return found
}
