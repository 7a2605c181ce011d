import type { Endpoint } from "./proxy/messages.ts"

/**
 * The endpoint with which a client stays, of those that are not among `tried`; undefined when there is none. Of all
 * pairs of the client and an endpoint the one with the greatest hash wins, so that a client moves only when its
 * endpoint goes or a new one wins, and nothing is kept by client. Source: rendezvous hashing (Thaler and Ravishankar,
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
 * A number of 32 bits. Texts that differ in their last digit only differ in all bits. Source: FNV-1a, ended as
 * MurmurHash3 ends (fmix32).
 */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
