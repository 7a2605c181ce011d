import { joinHostPort } from "../../pkg/apimachinery/addresses/cidr.ts"
import { endpointsOf, type ServicePort } from "./service-ports.ts"
import type { Endpoint } from "./topology.ts"

/**
 * Returns arguments of `conntrack -D` for UDP flows to endpoints that are gone. TCP clients notice that by themselves,
 * but the kernel keeps a UDP flow for as long as the client sends. Source: pkg/proxy/conntrack/cleanup.go.
 */
export function staleConnections(
  before: readonly ServicePort[],
  after: readonly ServicePort[],
): readonly (readonly string[])[] {
  const next = new Map(after.map((port) => [port.name, port]))
  const previous = new Map(before.map((port) => [port.name, port]))
  const stale: string[][] = []
  const remove = ({ family }: ServicePort, ...args: readonly string[]) =>
    stale.push(["-D", "-f", family.toLowerCase(), "-p", "udp", ...args])
  for (const old of before) {
    if (old.protocol !== "udp") continue
    const left = new Set(endpointsAt(next.get(old.name)).map(({ ip, port }) => joinHostPort(ip, port)))
    for (const { ip, port } of endpointsOf(old)) {
      if (left.has(joinHostPort(ip, port))) continue
      const there = ["--dst-nat", ip, "--reply-port-src", String(port)]
      for (const address of addressesOf(old)) remove(old, "--orig-dst", address, ...there)
      if (old.nodePort !== undefined) remove(old, "--dport", String(old.nodePort), ...there)
    }
  }
  for (const port of after) {
    if (port.protocol !== "udp" || port.cluster.length === 0 || (previous.get(port.name)?.cluster.length ?? 0) > 0)
      continue
    // Flows that began while there was no endpoint are remembered without a destination.
    for (const address of addressesOf(port)) remove(port, "--orig-dst", address)
    if (port.nodePort !== undefined) remove(port, "--dport", String(port.nodePort))
  }
  return stale
}

const addressesOf = ({ clusterIp, externalIps, loadBalancerIps }: ServicePort): readonly string[] => [
  ...new Set([clusterIp, ...externalIps, ...loadBalancerIps]),
]

const endpointsAt = (port: ServicePort | undefined): readonly Endpoint[] =>
  port === undefined ? [] : endpointsOf(port)
