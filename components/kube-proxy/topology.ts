import type { Endpoint } from "./service-ports.ts"

/** An endpoint with all that says whether it is used. */
export interface Candidate extends Endpoint {
  readonly isReady: boolean
  /** It ends, and still serves meanwhile. */
  readonly isEnding: boolean
  /** The zones and nodes that it is meant for by its hints; none where it has no hints. */
  readonly zones: readonly string[]
  readonly nodes: readonly string[]
}

/** The node of a proxy. */
export interface Place {
  readonly nodeName: string
  readonly zone: string | undefined
}

/**
 * The endpoints for traffic that may go to any node, and those for traffic that must stay on this one: ready ones, or,
 * for each of the two by itself, where none is ready those that still serve while they end (KEP-1669). Of all nodes'
 * only those that hints mean for this node, or else for its zone, where every ready one has such hints and one is meant
 * (KEP-2433, KEP-3015). Source: pkg/proxy/topology.go CategorizeEndpoints.
 */
export function categorize(
  candidates: readonly Candidate[],
  place: Place,
): { readonly cluster: readonly Endpoint[]; readonly local: readonly Endpoint[] } {
  const ready = candidates.filter(({ isReady }) => isReady)
  const ending = candidates.filter(({ isEnding }) => isEnding)
  const orEnding = (some: readonly Candidate[], others: readonly Candidate[]) => (some.length > 0 ? some : others)
  const here = ({ local }: Candidate) => local
  return {
    cluster: orEnding(meantFor(ready, place), ending).map(plain),
    local: orEnding(ready.filter(here), ending.filter(here)).map(plain),
  }
}

function meantFor(ready: readonly Candidate[], { nodeName, zone }: Place): readonly Candidate[] {
  const forNode = ready.filter(({ nodes }) => nodes.includes(nodeName))
  if (forNode.length > 0 && ready.every(({ nodes }) => nodes.length > 0)) return forNode
  const forZone = zone === undefined ? [] : ready.filter(({ zones }) => zones.includes(zone))
  if (forZone.length > 0 && ready.every(({ zones }) => zones.length > 0)) return forZone
  return ready
}

const plain = ({ ip, port, local }: Candidate): Endpoint => ({ ip, port, local })
