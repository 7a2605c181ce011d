import { canonicalAddress } from "./cidr.ts"

/**
 * Returns a warning for an address that is valid but not in the canonical form of RFC 5952; only IPv6 addresses can be.
 * Source: GetWarningsForIP and GetWarningsForCIDR in apimachinery pkg/util/validation/ip.go.
 */
export function addressWarnings(path: string, address: string): readonly string[] {
  if (!address.includes(":")) return NO_WARNINGS
  const canonical = canonicalAddress(address)
  return canonical === address
    ? NO_WARNINGS
    : [`${path}: IPv6 address "${address}" should be in RFC 5952 canonical format ("${canonical}")`]
}

/** Returns the same warning for a range of addresses. */
export function rangeWarnings(path: string, range: string): readonly string[] {
  const slash = range.indexOf("/")
  if (slash < 0 || !range.includes(":")) return NO_WARNINGS
  const canonical = `${canonicalAddress(range.slice(0, slash))}${range.slice(slash)}`
  return canonical === range
    ? NO_WARNINGS
    : [`${path}: IPv6 CIDR value "${range}" should be in RFC 5952 canonical format ("${canonical}")`]
}

const NO_WARNINGS: readonly string[] = []
