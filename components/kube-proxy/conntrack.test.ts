import { expect, test } from "bun:test"
import { staleConnections } from "./conntrack.ts"
import { sampleEndpoint, samplePort } from "./service-port.fixtures.ts"
import type { ServicePort } from "./service-ports.ts"

const udp = (...endpoints: readonly string[]) =>
  samplePort({ protocol: "udp", cluster: endpoints.map((ip) => sampleEndpoint(ip)), nodePort: 30_053 })
const udp6 = (...endpoints: readonly string[]) => ({
  ...udp(...endpoints),
  family: "IPv6" as const,
  clusterIp: "fd43::9",
})

const CASES: readonly {
  readonly title: string
  readonly before: ServicePort
  readonly after: readonly ServicePort[]
  readonly wants: readonly string[]
}[] = [
  {
    title: "to removed UDP endpoints",
    before: udp("10.42.0.5", "10.42.0.6"),
    after: [udp("10.42.0.6")],
    wants: [
      "-D -f ipv4 -p udp --orig-dst 10.43.0.9 --dst-nat 10.42.0.5 --reply-port-src 8080",
      "-D -f ipv4 -p udp --dport 30053 --dst-nat 10.42.0.5 --reply-port-src 8080",
    ],
  },
  {
    title: "to removed UDP endpoints of IPv6, with the family, which tells node ports of both families apart",
    before: udp6("fd42::5", "fd42::6"),
    after: [udp6("fd42::6")],
    wants: [
      "-D -f ipv6 -p udp --orig-dst fd43::9 --dst-nat fd42::5 --reply-port-src 8080",
      "-D -f ipv6 -p udp --dport 30053 --dst-nat fd42::5 --reply-port-src 8080",
    ],
  },
  {
    title: "to another port of an endpoint",
    before: udp("10.42.0.5"),
    after: [{ ...udp(), cluster: [{ ...sampleEndpoint("10.42.0.5"), port: 9090 }] }],
    wants: [
      "-D -f ipv4 -p udp --orig-dst 10.43.0.9 --dst-nat 10.42.0.5 --reply-port-src 8080",
      "-D -f ipv4 -p udp --dport 30053 --dst-nat 10.42.0.5 --reply-port-src 8080",
    ],
  },
  {
    title: "to a Service that had no endpoints before",
    before: udp(),
    after: [udp("10.42.0.6")],
    wants: ["-D -f ipv4 -p udp --orig-dst 10.43.0.9", "-D -f ipv4 -p udp --dport 30053"],
  },
  { title: "of no TCP client, since TCP notices a removed endpoint", before: samplePort(), after: [], wants: [] },
]

test.each(CASES)("kube-proxy deletes the kernel's connections $title", ({ before, after, wants }) => {
  expect(staleConnections([before], after).map((args) => args.join(" "))).toEqual([...wants])
})
