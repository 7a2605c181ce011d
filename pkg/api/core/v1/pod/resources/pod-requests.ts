import { milliOf, unitsOf } from "../../../../../apimachinery/scalars/quantity.ts"
import { RecentValues } from "../../../../../cache/recent-values.ts"
import type { Container } from "../../container/container.ts"
import type { Pod } from "../pod.ts"
import { isBeingResized, specInForce } from "./in-force.ts"

/** Amounts as numbers: CPU in thousandths of a core, memory in bytes, other resources in units. */
export interface Amounts {
  cpu: number
  memory: number
  ephemeral: number
  readonly scalar: Map<string, number>
}

export const noAmounts = (): Amounts => ({ cpu: 0, memory: 0, ephemeral: 0, scalar: new Map() })

/**
 * What a pod requests. `scored` counts a container without requests as if it had small ones, so that scoring spreads
 * such pods too.
 */
export interface PodRequests {
  readonly exact: Amounts
  readonly scored: { readonly cpu: number; readonly memory: number }
}

/** Source: pkg/scheduler/util/pod_resources.go. */
const DEFAULT_CPU = 100
const DEFAULT_MEMORY = 200 * 1024 * 1024

type Quantities = Readonly<Record<string, string>> | undefined

/** The fields of a pod spec, beside the containers, from which requests are computed. */
type Beside = Pick<Pod["spec"], "initContainers" | "resources" | "overhead">

/** Requests are computed once for each list of containers: binding a pod makes another spec, but keeps the list. */
const known = new RecentValues<Pod["spec"]["containers"], { readonly beside: Beside; readonly requests: PodRequests }>()

export function requestsOf({ spec }: Pod): PodRequests {
  const before = known.get(spec.containers)
  if (
    before !== undefined &&
    before.beside.initContainers === spec.initContainers &&
    before.beside.resources === spec.resources &&
    before.beside.overhead === spec.overhead
  )
    return before.requests
  const { initContainers, resources, overhead } = spec
  const requests = compute(spec)
  known.set(spec.containers, { beside: { initContainers, resources, overhead }, requests })
  return requests
}

/** Returns the limits of a pod, added up as its requests are. Source: component-helpers resource/helpers.go PodLimits. */
export function limitsOf({ spec }: Pod): Amounts {
  const limited = <C extends Pick<Container, "resources">>(container: C): C => ({
    ...container,
    resources: { ...container.resources, requests: container.resources.limits },
  })
  const { containers, initContainers, resources } = spec
  return compute({
    ...spec,
    overhead: undefined,
    containers: containers.map(limited),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(limited) }),
    ...(resources === undefined ? {} : { resources: { ...resources, requests: resources.limits } }),
  }).exact
}

/** Returns what a pod takes of its node, which is more than it requests while a resize is not in force. */
export const takenBy = (pod: Pod): PodRequests => (isBeingResized(pod) ? compute(specInForce(pod)) : requestsOf(pod))

/**
 * Requests of containers and sidecars are added up, because they run together. Each other init container runs alone,
 * beside the sidecars that were started before it, so the largest such sum counts if it is larger. Pod-level requests,
 * where given, replace the result. Source: component-helpers resource/helpers.go PodRequests.
 */
function compute(spec: Pod["spec"]): PodRequests {
  const total = (fill: boolean): Amounts => {
    const sum = noAmounts()
    for (const { resources } of spec.containers) add(sum, amounts(resources.requests, fill))
    const all = spec.initContainers === undefined ? sum : withInitContainers(sum, spec.initContainers, fill)
    const podLevel = spec.resources?.requests
    if (podLevel !== undefined) override(all, podLevel)
    if (spec.overhead !== undefined) add(all, amounts(spec.overhead, false))
    return all
  }
  const scored = total(true)
  return { exact: total(false), scored: { cpu: scored.cpu, memory: scored.memory } }
}

function withInitContainers(sum: Amounts, containers: readonly Container[], fill: boolean): Amounts {
  const sidecars = noAmounts()
  let peak = noAmounts()
  for (const { resources, restartPolicy } of containers) {
    const own = amounts(resources.requests, fill)
    if (restartPolicy === "Always") {
      add(sidecars, own)
      peak = larger(peak, sidecars)
    } else {
      add(own, sidecars)
      peak = larger(peak, own)
    }
  }
  add(sum, sidecars)
  return larger(sum, peak)
}

export function amounts(quantities: Quantities, fill: boolean): Amounts {
  const result = noAmounts()
  if (fill) [result.cpu, result.memory] = [DEFAULT_CPU, DEFAULT_MEMORY]
  override(result, quantities)
  return result
}

/**
 * Returns the same as `amounts` without a fill, but computes it once for each value. The result is shared and must not
 * be changed.
 */
export function allocatableAmounts(quantities: Quantities): Readonly<Amounts> {
  if (quantities === undefined) return NOTHING
  let found = allocatable.get(quantities)
  if (found === undefined) allocatable.set(quantities, (found = amounts(quantities, false)))
  return found
}
const allocatable = new WeakMap<NonNullable<Quantities>, Readonly<Amounts>>()
const NOTHING: Readonly<Amounts> = noAmounts()

function override(result: Amounts, quantities: Quantities): void {
  for (const [name, quantity] of Object.entries(quantities ?? {})) {
    if (name === "cpu") result.cpu = milliOf(quantity)
    else if (name === "memory") result.memory = unitsOf(quantity)
    else if (name === "ephemeral-storage") result.ephemeral = unitsOf(quantity)
    else result.scalar.set(name, unitsOf(quantity))
  }
}

export function add(to: Amounts, more: Amounts, sign: 1 | -1 = 1): void {
  to.cpu += sign * more.cpu
  to.memory += sign * more.memory
  to.ephemeral += sign * more.ephemeral
  for (const [name, amount] of more.scalar) to.scalar.set(name, (to.scalar.get(name) ?? 0) + sign * amount)
}

function larger(a: Amounts, b: Amounts): Amounts {
  const scalar = new Map(a.scalar)
  for (const [name, amount] of b.scalar) scalar.set(name, Math.max(scalar.get(name) ?? 0, amount))
  return {
    cpu: Math.max(a.cpu, b.cpu),
    memory: Math.max(a.memory, b.memory),
    ephemeral: Math.max(a.ephemeral, b.ephemeral),
    scalar,
  }
}
