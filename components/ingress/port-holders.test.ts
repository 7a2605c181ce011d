import { expect, test } from "bun:test"
import type { Service } from "../../pkg/api/core/v1/service/service.ts"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { PortHolders, type PortFault } from "./port-holders.ts"

const NODE = "192.0.2.1"
const PORTS = [
  { port: 80, mend: "set --ingress-http-port" },
  { port: 443, mend: "set --ingress-https-port" },
]
const service = (name: string, ports: readonly number[], spec: object, ingress: readonly object[] = []): Service =>
  ({
    metadata: { namespace: "shop", name },
    spec: { clusterIP: "10.43.0.9", ports: ports.map((port) => ({ port, protocol: "TCP" })), ...spec },
    status: { loadBalancer: { ingress } },
  }) as unknown as Service
const messagesOf = (faults: readonly PortFault[]) => faults.map(({ message }) => message)
const told = (field: string, name: string, port: number, flag: string) =>
  `${field} of Service shop/${name} has the node's address ${NODE}, with port ${port}: requests to it go to that ` +
  `Service and not to this proxy; take the address or the port out of the Service, or set ${flag}`

test.each([
  {
    title: "a Service with an external IP of the node is reported",
    given: [service("web", [8080, 80], { externalIPs: ["198.51.100.1", NODE] })],
    wants: [told("spec.externalIPs", "web", 80, "--ingress-http-port")],
  },
  {
    title: "a Service with the node's address in its load balancer status is reported",
    given: [service("web", [443], { type: "LoadBalancer" }, [{ ip: NODE }])],
    wants: [told("status.loadBalancer.ingress", "web", 443, "--ingress-https-port")],
  },
  {
    title: "a Service with the node's IPv6 address in another spelling is reported",
    given: [service("web", [80], { externalIPs: ["2001:DB8:0::1"] })],
    wants: [told("spec.externalIPs", "web", 80, "--ingress-http-port").replace(NODE, "2001:DB8:0::1")],
  },
  {
    title: "of several Services with one port, the first by name is reported",
    given: [service("b", [80], { externalIPs: [NODE] }), service("a", [80], { externalIPs: [NODE] })],
    wants: [told("spec.externalIPs", "a", 80, "--ingress-http-port")],
  },
  {
    title: "a Service without an address of the node is not reported",
    given: [service("web", [80], { externalIPs: ["198.51.100.1"] })],
    wants: [],
  },
  {
    title: "a Service without a port of Ingresses is not reported",
    given: [service("web", [8080], { externalIPs: [NODE] })],
    wants: [],
  },
  {
    title: "a Service with the port for UDP is not reported",
    given: [service("web", [], { externalIPs: [NODE], ports: [{ port: 443, protocol: "UDP" }] })],
    wants: [],
  },
  {
    title: "a Service whose load balancer handles the address in front of the node (ipMode Proxy) is not reported",
    given: [service("web", [80], {}, [{ ip: NODE, ipMode: "Proxy" }])],
    wants: [],
  },
  {
    title: "a headless Service, for which kube-proxy writes no rules, is not reported",
    given: [service("web", [80], { clusterIP: "None", externalIPs: [NODE] })],
    wants: [],
  },
])("$title", async ({ given, wants }) => {
  const clock = new VirtualClock(0)
  const holders = new PortHolders(clock, () => undefined)
  holders.tell(given, [NODE, "2001:db8::1"], PORTS)
  await clock.advance(2000)
  expect(messagesOf(holders.tell(given, [NODE, "2001:db8::1"], PORTS))).toEqual([...wants])
})

test("a Service that has the port for less than two seconds is not reported, and one that keeps it is", async () => {
  // given
  const clock = new VirtualClock(0)
  const web = [service("web", [80], { externalIPs: [NODE] })]
  const seen: (readonly string[])[] = []
  const holders = new PortHolders(clock, () => void seen.push(messagesOf(holders.tell(web, [NODE], PORTS))))

  // when it holds the port, gives it back, and takes it again
  expect(holders.tell(web, [NODE], PORTS)).toEqual([])
  await clock.advance(1500)
  expect(holders.tell([], [NODE], PORTS)).toEqual([])
  await clock.advance(1000)
  expect(holders.tell(web, [NODE], PORTS)).toEqual([])
  await clock.advance(1999)
  expect(seen).toEqual([])

  // then it is told after two seconds
  await clock.advance(1)
  expect(seen).toEqual([[told("spec.externalIPs", "web", 80, "--ingress-http-port")]])
})
