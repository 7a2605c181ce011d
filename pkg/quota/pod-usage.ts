import type { Pod } from "../api/core/v1/pod/pod.ts"
import { inForce } from "../api/core/v1/pod/resources/in-force.ts"
import { isHugePages } from "../api/core/v1/resources/resource-names.ts"
import { mayBeClaimed } from "../api/resource/v1/extended-resources.ts"
import {
  addQuantities,
  compareQuantities,
  fromUnits,
  quantity,
  type Quantity,
} from "../apimachinery/scalars/quantity.ts"
import type { Usage } from "./quota-objects.ts"

/** How much of a quota pods use. Source: pkg/quota/v1/evaluator/core/pods.go, component-helpers resource/helpers.go. */

const ONE = fromUnits(1)
const COMPUTE = ["cpu", "memory", "ephemeral-storage"]

/** Returns the usage of a pod; nothing for a pod that has ended, or whose deletion is long overdue. */
export function podUsage(pod: Pod, now: number): Usage {
  if (hasEnded(pod, now)) return {}
  const used: Record<string, Quantity> = { pods: ONE }
  for (const [name, amount] of Object.entries(total(pod, "requests"))) {
    const isCompute = COMPUTE.includes(name) || isHugePages(name)
    if (isCompute) used[name] = amount
    if (isCompute || mayBeClaimed(name)) used[`requests.${name}`] = amount
  }
  const limits = total(pod, "limits")
  for (const name of COMPUTE) if (limits[name] !== undefined) used[`limits.${name}`] = limits[name]
  return used
}

/** A pod on a lost node stays, since no kubelet can end it. It counts as ended when its grace period is over. */
function hasEnded({ metadata, status }: Pod, now: number): boolean {
  if (status.phase === "Succeeded" || status.phase === "Failed") return true
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata
  return (
    deletionTimestamp !== undefined &&
    deletionGracePeriodSeconds !== undefined &&
    now > Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000
  )
}

type Kind = "requests" | "limits"
type Amounts = Readonly<Record<string, Quantity>>

/**
 * Containers and sidecars run together. Each other init container runs beside the sidecars that were started before it,
 * so the largest such sum counts if it is larger. Resources of the pod itself replace those of its containers.
 */
function total(pod: Pod, kind: Kind): Amounts {
  const { containers, initContainers = [], resources, overhead } = pod.spec
  let sidecars: Amounts = {}
  let peak: Amounts = {}
  for (const container of initContainers) {
    const isSidecar = container.restartPolicy === "Always"
    const own = isSidecar ? inForce(pod, container, kind) : (container.resources[kind] ?? {})
    const beside = sum(sidecars, amountsOf(own))
    if (isSidecar) sidecars = beside
    peak = larger(peak, beside)
  }
  const running = containers.reduce((all, one) => sum(all, amountsOf(inForce(pod, one, kind))), sidecars)
  const ofPod = Object.entries(resources?.[kind] ?? {}).filter(([name]) => isOfPods(name))
  const all = { ...larger(running, peak), ...amountsOf(Object.fromEntries(ofPod)) }
  const cost = Object.entries(amountsOf(overhead ?? {})).filter(
    ([name]) => kind === "requests" || (all[name] !== undefined && all[name].nano !== 0n),
  )
  return sum(all, Object.fromEntries(cost))
}

const isOfPods = (name: string): boolean => name === "cpu" || name === "memory" || isHugePages(name)

type Texts = Readonly<Record<string, string>>

const amountsOf = (texts: Texts): Amounts =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, quantity(text)]))

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
