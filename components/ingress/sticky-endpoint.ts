import type { Endpoint } from "./messages/messages.ts"

/**
 * Returns the endpoint of a client among those not in `tried`; undefined when there is none. It is the endpoint for
 * which the hash of client and endpoint is greatest, so a client changes its endpoint only when that disappears or a
 * new one has a greater hash, and no state per client is needed. Source: rendezvous hashing (Thaler and Ravishankar,
 * 1998).
 */
export function stickyEndpoint(
  client: string,
  endpoints: readonly Endpoint[],
  tried: readonly Endpoint[],
): Endpoint | undefined {
  let best: Endpoint | undefined
  let greatest = -1
  for (const endpoint of endpoints) {
    if (tried.some(({ key }) => key === endpoint.key)) continue
    const hash = hashOf(`${client} ${endpoint.key}`)
    if (hash <= greatest) continue
    greatest = hash
    best = endpoint
  }
  return best
}

/**
 * Returns a 32-bit hash, in which a difference of one digit changes all bits. Source: FNV-1a with the finalizer of
 * MurmurHash3 (fmix32).
 */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
