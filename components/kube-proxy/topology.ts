/** A possible destination of connections to a Service port. */
export interface Endpoint {
  readonly ip: string
  readonly port: number
  /** Whether it is on this node. */
  readonly local: boolean
}

/** An endpoint with all that decides whether it is used. */
export interface Candidate extends Endpoint {
  readonly isReady: boolean
  /** Whether it is terminating, and still serves. */
  readonly isEnding: boolean
  /** The zones and nodes in its hints; empty when it has none. */
  readonly zones: readonly string[]
  readonly nodes: readonly string[]
}

/** Node and zone of a proxy. */
export interface Place {
  readonly nodeName: string
  readonly zone: string | undefined
}

/**
 * Returns the endpoints for traffic that may go to any node, and those for traffic that must stay on this node. Each
 * has the ready endpoints, or when there are none, those that still serve while they terminate (KEP-1669). The former
 * has only endpoints with hints for this node, or else for its zone, if every ready endpoint has such hints and at
 * least one is for it (KEP-2433, KEP-3015). Source: pkg/proxy/topology.go CategorizeEndpoints.
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
