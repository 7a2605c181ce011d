import { keyFrom, type Key } from "../../../../pkg/client/informer.ts"
import type { Gateway } from "../../../../pkg/gateway-api/gateway.ts"

/**
 * Gives each Gateway without `spec.addresses` an address of the pool for itself, oldest Gateway first. A Gateway keeps
 * the address that its status has; when no address is left, a Gateway shares the addresses of the node.
 */
export function fromPool(gateways: readonly Gateway[], pool: readonly string[]): ReadonlyMap<Key, string> {
  const given = new Map<Key, string>()
  if (pool.length === 0) return given
  const asking = gateways.filter(({ spec }) => (spec.addresses ?? []).length === 0)
  const free = new Set(pool)
  for (const { spec } of gateways) for (const { value = "" } of spec.addresses ?? []) free.delete(value)
  const give = (gateway: Gateway, address: string | undefined) => {
    if (address === undefined || !free.delete(address)) return
    given.set(keyFrom(gateway.metadata), address)
  }
  for (const gateway of asking) give(gateway, gateway.status?.addresses?.[0]?.value)
  for (const gateway of asking) {
    const [next] = free
    if (!given.has(keyFrom(gateway.metadata))) give(gateway, next)
  }
  return given
}
