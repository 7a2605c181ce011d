import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { matchesTerm } from "../../../pkg/api/core/v1/pod/scheduling/node-selection.ts"
import type { NodeSelector } from "../../../pkg/api/core/v1/pod/scheduling/affinity.ts"
import type { CounterSet, Device } from "../../../pkg/api/resource/v1/device.ts"
import type { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"

/**
 * The pools of devices that a node reaches, made of ResourceSlices. Source: dynamic-resource-allocation
 * structured/internal/stable/pools_stable.go.
 */
export interface Pool {
  readonly driver: string
  readonly name: string
  /**
   * `incomplete`: its driver is still writing its slices. `invalid`: its slices contradict each other. Nothing is taken
   * from either.
   */
  readonly state: "complete" | "incomplete" | "invalid"
  /** Slices with devices that the node may reach, and the others of the pool, whose devices share its counters. */
  readonly slices: readonly ResourceSlice[]
  readonly others: readonly ResourceSlice[]
  readonly counterSets: readonly CounterSet[]
}

/** What says which nodes reach a device: the slice, or each device in it. */
interface Place {
  readonly nodeName?: string | undefined
  readonly allNodes?: boolean | undefined
  readonly nodeSelector?: NodeSelector | undefined
}

export const isReachedBy = (node: Node, { nodeName = "", allNodes, nodeSelector }: Place): boolean => {
  if (nodeName !== "") return nodeName === node.metadata.name
  if (allNodes === true) return true
  return nodeSelector !== undefined && matchesNode(nodeSelector, node)
}

export const matchesNode = ({ nodeSelectorTerms }: NodeSelector, node: Node): boolean =>
  nodeSelectorTerms.some((term) => matchesTerm(term, node))

/** Tells devices apart: pools have names of their own for each driver, and devices for each pool. */
export const deviceId = (driver: string, pool: string, device: string): string => `${driver}/${pool}/${device}`

/** The pools with devices for the node, in the order of their first slices. Slices of older generations do not count. */
export function poolsFor(node: Node, slices: readonly ResourceSlice[]): readonly Pool[] {
  const found = new Map<string, readonly ResourceSlice[]>()
  for (const slice of slices) {
    if (!mayServe(slice, node)) continue
    const key = keyOf(slice)
    const before = found.get(key) ?? []
    const generation = before[0]?.spec.pool.generation ?? slice.spec.pool.generation
    if (slice.spec.pool.generation === generation) found.set(key, [...before, slice])
    else if (slice.spec.pool.generation > generation) found.set(key, [slice])
  }
  return [...found].flatMap(([key, reaching]) => poolOf(reaching, () => slices.filter((slice) => keyOf(slice) === key)))
}

const keyOf = ({ spec: { driver, pool } }: ResourceSlice): string => `${driver}/${pool.name}`

/** Shared counters are needed wherever the devices that consume them are. */
function mayServe({ spec }: ResourceSlice, node: Node): boolean {
  if ((spec.sharedCounters ?? []).length > 0) return true
  return spec.perDeviceNodeSelection === true
    ? (spec.devices ?? []).some((device) => isReachedBy(node, device))
    : isReachedBy(node, spec)
}

function poolOf(reaching: readonly ResourceSlice[], ofPool: () => readonly ResourceSlice[]): readonly Pool[] {
  const { driver, pool } = reaching[0]!.spec
  const names = { driver, name: pool.name }
  let others: readonly ResourceSlice[] = []
  if (reaching.length !== pool.resourceSliceCount) {
    const all = ofPool()
    // A newer generation has nothing for this node: what is here is out of date.
    if (all.some(({ spec }) => spec.pool.generation > pool.generation)) return []
    const current = all.filter(({ spec }) => spec.pool.generation === pool.generation)
    if (current.length !== pool.resourceSliceCount)
      return [{ ...names, state: "incomplete", slices: [], others: [], counterSets: [] }]
    others = current.filter((slice) => !reaching.includes(slice))
  }
  const counterSets = reaching.flatMap(({ spec }) => spec.sharedCounters ?? [])
  const slices = reaching.filter(({ spec }) => (spec.sharedCounters ?? []).length === 0)
  const isValid =
    areDistinct(slices.flatMap(({ spec }) => spec.devices ?? [])) &&
    areDistinct(counterSets) &&
    [...slices, ...others].every(({ spec }) => (spec.devices ?? []).every((device) => hasCounters(device, counterSets)))
  return isValid
    ? [{ ...names, state: "complete", slices, others, counterSets }]
    : [{ ...names, state: "invalid", slices: [], others: [], counterSets: [] }]
}

const areDistinct = (named: readonly { readonly name: string }[]): boolean =>
  new Set(named.map(({ name }) => name)).size === named.length

/** Whether the counters that the device consumes are there. */
const hasCounters = ({ consumesCounters = [] }: Device, sets: readonly CounterSet[]): boolean =>
  consumesCounters.every(({ counterSet, counters }) => {
    const set = sets.find(({ name }) => name === counterSet)
    return set !== undefined && Object.keys(counters).every((name) => Object.hasOwn(set.counters, name))
  })
