import { BlockList, isIPv4, isIPv6 } from "node:net"

/** Addresses that can be nobody's endpoint. Source: ValidateEndpointIP (non-special IPs) in pkg/apis/core/validation. */
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
const LISTS = SPECIAL.map(({ ranges, why }) => {
  const list = new BlockList()
  for (const [address, bits, family] of ranges) list.addSubnet(address, bits, family)
  return { list, why }
})

/** Why an IP address cannot be an endpoint or an external address, or nothing. */
export function specialAddress(ip: string): string | undefined {
  const family = isIPv4(ip) ? "ipv4" : isIPv6(ip) ? "ipv6" : undefined
  const why = family === undefined ? undefined : LISTS.find(({ list }) => list.check(ip, family))?.why
  return why === SPECIAL[0]!.why ? `${why} (${ip})` : why
}
