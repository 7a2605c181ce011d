import type { Container } from "../../../pkg/api/core/v1/container/container.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  quantity,
  type Quantity,
} from "../../../pkg/apimachinery/scalars/quantity.ts"
import { isSidecar } from "./containers.ts"
import { ByContainers } from "./by-containers.ts"

type Kind = "requests" | "limits"
type Amounts = Readonly<Record<string, Quantity>>
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
 * Containers and sidecars run together; each other init container runs beside the sidecars before it, so the largest
 * such sum counts if it is larger. Amounts of the pod itself replace those of its containers. A limit that one of the
 * containers lacks is none of the pod. Source: PodRequests and PodLimits in component-helpers resource/helpers.go.
 */
function total({ containers, initContainers = [], resources, overhead }: Pod["spec"], kind: Kind): Amounts {
  const together = [...containers, ...initContainers.filter(isSidecar)]
  let peak: Amounts = {}
  let sidecars: Amounts = {}
  for (const container of initContainers) {
    const beside = sum(sidecars, own(container, kind))
    if (isSidecar(container)) sidecars = beside
    peak = larger(peak, beside)
  }
  const running = together.reduce((all, container) => sum(all, own(container, kind)), {} as Amounts)
  const bounded = Object.entries(larger(running, peak)).filter(
    ([name]) => kind === "requests" || together.every((container) => container.resources.limits?.[name] !== undefined),
  )
  const all = { ...Object.fromEntries(bounded), ...quantities(resources?.[kind] ?? {}) }
  const cost = Object.entries(quantities(overhead ?? {})).filter(
    ([name]) => kind === "requests" || all[name] !== undefined,
  )
  return sum(all, Object.fromEntries(cost))
}

const own = ({ resources }: Container, kind: Kind): Amounts => quantities(resources[kind] ?? {})

const quantities = (amounts: Texts): Amounts =>
  Object.fromEntries(Object.entries(amounts).map(([name, text]) => [name, quantity(text)]))

function sum(a: Amounts, b: Amounts): Amounts {
  const all: Record<string, Quantity> = { ...a }
  for (const [name, amount] of Object.entries(b))
    all[name] = all[name] === undefined ? amount : addQuantities(all[name], amount)
  return all
}

function larger(a: Amounts, b: Amounts): Amounts {
  const all: Record<string, Quantity> = { ...a }
  for (const [name, amount] of Object.entries(b))
    if (all[name] === undefined || compareQuantities(amount, all[name]) > 0) all[name] = amount
  return all
}

const isEmpty = (fields: object): boolean => Object.keys(fields).length === 0
