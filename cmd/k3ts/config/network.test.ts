import { describe, expect, test } from "bun:test"
import { resolveFlags, splitArguments } from "../cli/parse.ts"
import { UsageError } from "../cli/usage-error.ts"
import { networkOf } from "./network.ts"
import { serverFlags } from "./server-flags.ts"

const network = (given: string) =>
  networkOf(
    resolveFlags(serverFlags, {
      written: splitArguments(
        given.split(" ").filter((word) => word !== ""),
        serverFlags,
      ),
      env: { K3TS_CONFIG: "/dev/null" },
      config: { keys: [], foreign: {} },
    }),
  )

describe("the addresses of a cluster", () => {
  test.each([
    {
      title: "IPv4 only, by default",
      given: "",
      wants: {
        clusterCidrs: ["10.42.0.0/16"],
        nodeMasks: [24],
        firstNodeRanges: ["10.42.0.0/24"],
        serviceCidrs: ["10.43.0.0/16"],
        clusterDns: ["10.43.0.10"],
      },
    },
    {
      title: "both families, and the DNS server has the tenth address of each range",
      given: "--cluster-cidr 10.42.0.0/16,fd42::/56 --service-cidr 10.43.0.0/16,fd43::/112",
      wants: {
        clusterCidrs: ["10.42.0.0/16", "fd42::/56"],
        nodeMasks: [24, 64],
        firstNodeRanges: ["10.42.0.0/24", "fd42::/64"],
        serviceCidrs: ["10.43.0.0/16", "fd43::/112"],
        clusterDns: ["10.43.0.10", "fd43::a"],
      },
    },
    {
      title: "IPv6 first, with chosen prefix lengths for the nodes",
      given:
        "--cluster-cidr fd42::/48,10.42.0.0/20 --service-cidr fd43::/64,10.43.0.0/24 --cluster-dns fd43::53 " +
        "--node-cidr-mask-size-ipv6 60 --node-cidr-mask-size-ipv4 26 --node-ip 2001:db8::5,192.0.2.5",
      wants: {
        clusterCidrs: ["fd42::/48", "10.42.0.0/20"],
        nodeMasks: [60, 26],
        firstNodeRanges: ["fd42::/60", "10.42.0.0/26"],
        serviceCidrs: ["fd43::/64", "10.43.0.0/24"],
        clusterDns: ["fd43::53"],
      },
    },
    {
      title: "pods of both families and Services of one",
      given: "--cluster-cidr 10.42.0.0/28,fd42::/100",
      wants: {
        clusterCidrs: ["10.42.0.0/28", "fd42::/100"],
        nodeMasks: [28, 100],
        firstNodeRanges: ["10.42.0.0/28", "fd42::/100"],
        serviceCidrs: ["10.43.0.0/16"],
        clusterDns: ["10.43.0.10"],
      },
    },
  ])("$title", ({ given, wants }) => expect(network(given)).toEqual(wants))

  const V6 = "--cluster-cidr fd42::/56 --service-cidr fd43::/112"
  test.each([
    {
      given: "--cluster-cidr 10.42.0.0/16,10.44.0.0/16",
      wants:
        'invalid value "10.42.0.0/16,10.44.0.0/16" for --cluster-cidr: must be one range, or one of IPv4 and one of IPv6',
    },
    {
      given: "--service-cidr 10.43.0.0/16,fd43::/112,fd44::/112",
      wants:
        'invalid value "10.43.0.0/16,fd43::/112,fd44::/112" for --service-cidr: must be one range, or one of IPv4 and ' +
        "one of IPv6",
    },
    {
      given: "--cluster-cidr fd42::/56",
      wants:
        "--service-cidr 10.43.0.0/16 and --cluster-cidr fd42::/56 must begin with the same family, and Services can " +
        "have only families that pods have: give both flags ranges of the same families in the same order",
    },
    {
      given: "--service-cidr 10.43.0.0/16,fd43::/112",
      wants:
        "--service-cidr 10.43.0.0/16,fd43::/112 and --cluster-cidr 10.42.0.0/16 must begin with the same family, and " +
        "Services can have only families that pods have: give both flags ranges of the same families in the same order",
    },
    {
      given: "--cluster-cidr 10.0.0.0/8",
      wants: "--service-cidr 10.43.0.0/16 and --cluster-cidr 10.0.0.0/8 overlap: choose ranges apart from each other",
    },
    {
      given: "--cluster-cidr fd00::/56 --service-cidr fd00::1:0/112",
      wants: "--service-cidr fd00::1:0/112 and --cluster-cidr fd00::/56 overlap: choose ranges apart from each other",
    },
    {
      given: "--cluster-cidr 10.42.0.0/30",
      wants: 'invalid value "10.42.0.0/30" for --cluster-cidr: the prefix of a range of IPv4 must be from /8 to /28',
    },
    {
      given: "--cluster-cidr fd42::/56 --service-cidr fd43::/56",
      wants: 'invalid value "fd43::/56" for --service-cidr: the prefix of a range of IPv6 must be from /64 to /124',
    },
    {
      given: "--cluster-cidr fd42::/40 --service-cidr fd43::/112",
      wants:
        "--cluster-cidr fd42::/40 is too large for ranges of /64 for each node: choose a prefix of /48 or longer, or " +
        "a --node-cidr-mask-size-ipv6 of 56 or less",
    },
    {
      given: `${V6} --node-cidr-mask-size-ipv6 52`,
      wants: 'invalid value "52" for --node-cidr-mask-size-ipv6: must be from 56, the prefix of --cluster-cidr, to 126',
    },
    {
      given: `${V6} --node-cidr-mask-size-ipv4 24`,
      wants: "--node-cidr-mask-size-ipv4 needs an IPv4 range in --cluster-cidr: leave it out",
    },
    {
      given: `${V6} --node-ip 192.0.2.5,2001:db8::5`,
      wants:
        'invalid value "192.0.2.5,2001:db8::5" for --node-ip: must be an address of IPv6, the first family of ' +
        "--cluster-cidr, first",
    },
    {
      given: "--node-ip 192.0.2.5,192.0.2.6",
      wants: 'invalid value "192.0.2.5,192.0.2.6" for --node-ip: must be one address, or one of IPv4 and one of IPv6',
    },
    {
      given: "--advertise-address 2001:db8::5",
      wants:
        'invalid value "2001:db8::5" for --advertise-address: must be an address of IPv4, the first family of ' +
        "--cluster-cidr",
    },
    {
      given: "--cluster-dns 10.42.0.10",
      wants:
        'invalid value "10.42.0.10" for --cluster-dns: must be an address of --service-cidr 10.43.0.0/16, but not one ' +
        "of its first two",
    },
    {
      given: `${V6} --cluster-dns fd43::1`,
      wants:
        'invalid value "fd43::1" for --cluster-dns: must be an address of --service-cidr fd43::/112, but not one of ' +
        "its first two",
    },
    {
      given: "--cluster-dns 10.43.0.10,10.43.0.11",
      wants:
        'invalid value "10.43.0.10,10.43.0.11" for --cluster-dns: must be one address, or one for each range of ' +
        "--service-cidr 10.43.0.0/16",
    },
    {
      given: "--cluster-cidr FD42::/56",
      wants: 'invalid value "FD42::/56" for --cluster-cidr: must be in canonical form ("fd42::/56")',
    },
  ])("$given is refused", ({ given, wants }) => expect(() => network(given)).toThrow(new UsageError(wants)))
})
