import { BlockList, isIPv4, isIPv6 } from "node:net"
import type { Cause } from "../../../../apimachinery/errors.ts"
import { invalidValue, NO_CAUSES } from "../../../../apimachinery/validation/field-errors.ts"
import { withoutLeadingZeros } from "../../../../apimachinery/validation/names.ts"

/**
 * Addresses that cannot be endpoints, such as loopback addresses. Source: ValidateEndpointIP (non-special IPs) in
 * pkg/apis/core/validation.
 */
const SPECIAL: readonly { readonly ranges: readonly [string, number, "ipv4" | "ipv6"][]; readonly why: string }[] = [
  {
    ranges: [
      ["0.0.0.0", 32, "ipv4"],
      ["::", 128, "ipv6"],
    ],
    why: "may not be unspecified",
  },
  {
    ranges: [
      ["127.0.0.0", 8, "ipv4"],
      ["::1", 128, "ipv6"],
    ],
    why: "may not be in the loopback range (127.0.0.0/8, ::1/128)",
  },
  {
    ranges: [
      ["169.254.0.0", 16, "ipv4"],
      ["fe80::", 10, "ipv6"],
    ],
    why: "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
  },
  {
    ranges: [
      ["224.0.0.0", 24, "ipv4"],
      ["ff02::", 16, "ipv6"],
    ],
    why: "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
  },
]
/** Texts of the IPv4 addresses in the ranges above. */
const SPECIAL_V4 = /^(?:0\.0\.0\.0$|127\.|169\.254\.|224\.0\.0\.)/
const LISTS = SPECIAL.map(({ ranges, why }) => {
  const list = new BlockList()
  for (const [address, bits, family] of ranges) list.addSubnet(address, bits, family)
  return { list, why }
})

/**
 * Returns why a text cannot be the address of an endpoint, or an external address. Text that is no address is reported
 * as such; numbers with leading zeros are accepted.
 */
export function endpointAddressFaults(text: string, path: string): readonly Cause[] {
  const ip = withoutLeadingZeros(text)
  // The BlockList takes a microsecond for each address, and an object can have tens of thousands.
  if (isIPv4(ip) && !SPECIAL_V4.test(ip)) return NO_CAUSES
  const family = isIPv4(ip) ? "ipv4" : isIPv6(ip) && !ip.includes("%") ? "ipv6" : undefined
  if (family === undefined) return [invalidValue(path, text, "must be a valid IP address")]
  const why = LISTS.find(({ list }) => list.check(ip, family))?.why
  if (why === undefined) return NO_CAUSES
  return [invalidValue(path, text, why === SPECIAL[0]!.why ? `${why} (${text})` : why)]
}
