/** Numbers of endpoints by zone. */
export type Counts = Map<string, number>

/** How many endpoints a zone is to have. */
export interface Allocation {
  readonly maximum: number
  /** With a fraction. */
  readonly desired: number
}
export type Allocations = ReadonlyMap<string, Allocation>

/** By how much more than its share an endpoint may get. Source: overloadThreshold. */
export const OVERLOAD = 0.2

/**
 * Returns how many of `endpoints` each zone is to have by its part of the CPUs, or why none should have any. Source:
 * getAllocations, k8s.io/endpointslice/topologycache.
 */
export function allocate(ratios: ReadonlyMap<string, number> | undefined, endpoints: number): Allocations | string {
  if (ratios === undefined)
    return "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
  const figures = `(${endpoints} endpoints, ${ratios.size} zones)`
  if (ratios.size > endpoints) return `Insufficient number of endpoints ${figures}`
  const shares = [...ratios].map(([zone, ratio]) => {
    const desired = ratio * endpoints
    const minimum = Math.ceil(desired * (1 / (1 + OVERLOAD)))
    return { zone, minimum, desired: Math.max(desired, minimum) }
  })
  const spare = endpoints - shares.reduce((sum, { minimum }) => sum + minimum, 0)
  if (spare < 0)
    return "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold " + figures
  return new Map(shares.map(({ zone, minimum, desired }) => [zone, { maximum: minimum + spare, desired }]))
}

/**
 * Returns how many endpoints zones give to others, and how many each gets. An endpoint leaves its zone only where at
 * least half an endpoint is too many there and too few elsewhere, and a whole one in either place. Source:
 * getGivingAndReceivingZones.
 */
export function exchange(
  allocations: Allocations,
  counts: ReadonlyMap<string, number>,
): { readonly giving: Counts; readonly receiving: Counts } {
  const [tooMany, tooFew] = [new Map<string, number>(), new Map<string, number>()]
  for (const [zone, { desired }] of allocations) {
    const difference = (counts.get(zone) ?? 0) - desired
    if (difference > 0) tooMany.set(zone, difference)
    else if (difference < 0) tooFew.set(zone, -difference)
  }
  const giving: Counts = new Map()
  const receiving: Counts = new Map()
  for (;;) {
    const [from, give] = most(tooMany)
    const [to, need] = most(tooFew)
    if (from === undefined || to === undefined || Math.max(give, need) < 1 || Math.min(give, need) < 0.5)
      return { giving, receiving }
    giving.set(from, (giving.get(from) ?? 0) + 1)
    tooMany.set(from, give - 1)
    receiving.set(to, (receiving.get(to) ?? 0) + 1)
    tooFew.set(to, need - 1)
  }
}

/** The zone with the most, and how much; without a zone where none has any. */
function most(zones: ReadonlyMap<string, number>): readonly [zone: string | undefined, count: number] {
  let [zone, most]: [string | undefined, number] = [undefined, 0]
  for (const [each, count] of zones) if (count > most) [zone, most] = [each, count]
  return [zone, most]
}
