import { milliOf, unitsOf } from "../../../../apimachinery/scalars/quantity.ts"
import type { Container } from "../container/container.ts"
import type { Pod } from "./pod.ts"

/** Amounts as plain numbers: milli-cores, bytes, and units of anything else. */
export interface Amounts {
  cpu: number
  memory: number
  ephemeral: number
  readonly scalar: Map<string, number>
}

export const noAmounts = (): Amounts => ({ cpu: 0, memory: 0, ephemeral: 0, scalar: new Map() })

/**
 * What a pod needs. `scored` counts containers without requests as if they asked for a little, so that scores spread
 * them too.
 */
export interface PodRequests {
  readonly exact: Amounts
  readonly scored: { readonly cpu: number; readonly memory: number }
}

/** Source: pkg/scheduler/util/pod_resources.go. */
const DEFAULT_CPU = 100
const DEFAULT_MEMORY = 200 * 1024 * 1024

type Quantities = Readonly<Record<string, string>> | undefined

/** What requests are worked out from, beside the containers. */
type Beside = Pick<Pod["spec"], "initContainers" | "resources" | "overhead">

/**
 * Requests are worked out once for each list of containers, an immutable value: a pod that is bound has another spec
 * with the same containers.
 */
const known = new WeakMap<Pod["spec"]["containers"], { readonly beside: Beside; readonly requests: PodRequests }>()

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

/**
 * Containers and sidecars run together and add up; each other init container runs alone beside the sidecars started
 * before it, so the largest counts. Pod-level requests, where given, replace the sum. Source: component-helpers
 * resource/helpers.go PodRequests.
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

/** The same as `amounts` without a fill, worked out once for each value; nobody may change it. */
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
