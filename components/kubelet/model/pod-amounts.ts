import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import {
  addResourceLists,
  containersResourceList,
  resourceList,
  type ResourceList,
} from "../../../pkg/api/core/v1/pod/resources/resource-list.ts"
import { formatQuantity } from "../../../pkg/apimachinery/scalars/quantity.ts"
import { isSidecar } from "./containers.ts"
import { ByContainers } from "./by-containers.ts"

type Kind = "requests" | "limits"
type Texts = Readonly<Record<string, string>>

/** The fields of a pod's status that tell its resources as a whole. */
export type PodAmounts = Pick<PodStatus, "resources" | "allocatedResources">

/** Cached, because the status of a pod is computed many times. */
const known = new ByContainers<{ readonly requests: Texts; readonly limits: Texts }>()

/**
 * Returns the resources of a pod as its status tells them: those that the node has set aside, and those that are in
 * force. `actuated` is the spec whose resources the cgroups have. A pod without requests and limits has no such fields.
 * Source: convertToAPIPodLevelResourcesStatus in pkg/kubelet/kubelet_pods.go. Differs from upstream: the amounts of the
 * spec are told, and not what the kernel made of them.
 */
export function podAmounts(allocated: Pod["spec"], actuated: Pod["spec"]): PodAmounts {
  const { requests: allocatedResources } = amountsOf(allocated)
  const { requests, limits } = amountsOf(actuated)
  const resources = {
    ...(isEmpty(limits) ? {} : { limits }),
    ...(isEmpty(requests) ? {} : { requests }),
  }
  return {
    ...(isEmpty(allocatedResources) ? {} : { allocatedResources }),
    ...(isEmpty(resources) ? {} : { resources }),
  }
}

const amountsOf = (spec: Pod["spec"]): { readonly requests: Texts; readonly limits: Texts } =>
  known.of(spec, () => ({ requests: texts(spec, "requests"), limits: texts(spec, "limits") }))

const texts = (spec: Pod["spec"], kind: Kind): Texts =>
  Object.fromEntries(Object.entries(total(spec, kind)).map(([name, amount]) => [name, formatQuantity(amount)]))

/**
 * Amounts of the pod itself replace those of its containers. A limit that one of the containers lacks is none of the
 * pod. Source: PodRequests and PodLimits in component-helpers resource/helpers.go.
 */
function total(spec: Pod["spec"], kind: Kind): ResourceList {
  const { containers, initContainers = [], resources, overhead } = spec
  const together = [...containers, ...initContainers.filter(isSidecar)]
  const ofContainers = containersResourceList(spec, (container) => resourceList(container.resources[kind]))
  const bounded = Object.entries(ofContainers).filter(
    ([name]) => kind === "requests" || together.every((container) => container.resources.limits?.[name] !== undefined),
  )
  const all = { ...Object.fromEntries(bounded), ...resourceList(resources?.[kind]) }
  const cost = Object.entries(resourceList(overhead)).filter(([name]) => kind === "requests" || all[name] !== undefined)
  return addResourceLists(all, Object.fromEntries(cost))
}

const isEmpty = (fields: object): boolean => Object.keys(fields).length === 0
