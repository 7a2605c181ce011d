/** What should happen to packets to Services: one table for both address families. */
import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { LAB, type LabMember } from "./packet-lab.fixtures.ts"

export type Web = "web-1" | "web-2" | "web-3"
interface Ask {
  readonly from: LabMember
  readonly to: string
  readonly port?: number
  readonly protocol?: "udp"
  /** The servers that may respond, with the client's address that they see; or what happens instead. */
  readonly wants: readonly string[]
}

export const NODE_PORT = 30_080
/** A port on which the node itself listens, as far as the proxy knows. */
export const OWN_PORT = 6443
export const as = (ip: string, ...webs: readonly Web[]) => webs.map((web) => `${web} as ${ip}`)

export type Spec = Partial<Service["spec"]>
export const NODE_PORT_SPEC: Spec = { type: "NodePort", ports: [{ port: 80, nodePort: NODE_PORT, protocol: "TCP" }] }

export interface PacketCase {
  readonly title: string
  readonly spec?: Spec
  /** The ready endpoints. */
  readonly endpoints: readonly Web[]
  readonly ending?: readonly Web[]
  /** Addresses of the load balancer in the Service's status. */
  readonly loadBalancer?: string
  readonly asks: readonly Ask[]
}

interface ServiceAddresses {
  /** The cluster IP of the Service, and an address of the same range without a Service. */
  readonly vip: string
  readonly unused: string
  /** An external IP or the address of a load balancer. */
  readonly external: string
  /** The address of a node that does not answer. */
  readonly ofOtherNode: string
  /** An address at which the node itself answers. */
  readonly own: string
}
export const SERVICE: Readonly<Record<Family, ServiceAddresses>> = {
  IPv4: {
    vip: "10.43.7.7",
    unused: "10.43.7.8",
    external: "203.0.113.5",
    ofOtherNode: "203.0.113.77",
    own: "10.43.0.10",
  },
  IPv6: {
    vip: "fd43::77",
    unused: "fd43::78",
    external: "2001:db8:5::5",
    ofOtherNode: "2001:db8:5::77",
    own: "fd43::a",
  },
}

/** Returns the cases with the addresses of a family. */
export function casesFor(family: Family): readonly PacketCase[] {
  const { vip, unused, external, ofOtherNode } = SERVICE[family]
  const { pods, node, outside, nodeForPods } = LAB[family]
  const pod = pods["pod-a"]
  const [loopback, onLoopback] =
    family === "IPv4" ? ["127.0.0.1", as(nodeForPods, "web-1", "web-3")] : ["::1", ["refused"]]
  const sources = ["198.51.100.0/24", "10.42.0.2/32", "2001:db8:7::/64", "fd42::2/128"]
  return [
    {
      title: "spreads connections over all endpoints; the source address of pods is kept, others are masqueraded",
      endpoints: ["web-1", "web-2", "web-3"],
      asks: [
        { from: "pod-a", to: vip, wants: as(pod, "web-1", "web-2", "web-3") },
        { from: "outside", to: vip, wants: as(nodeForPods, "web-1", "web-2", "web-3") },
        { from: "node", to: vip, wants: as(nodeForPods, "web-1", "web-2", "web-3") },
      ],
    },
    {
      title: "connects a pod to itself",
      endpoints: ["web-1"],
      asks: [{ from: "web-1", to: vip, wants: as(nodeForPods, "web-1") }],
    },
    {
      title: "refuses a port that the Service does not have, and drops packets to an address without a Service",
      endpoints: ["web-1"],
      asks: [
        { from: "pod-a", to: vip, port: 81, wants: ["refused"] },
        { from: "node", to: vip, port: 81, wants: ["refused"] },
        { from: "pod-a", to: unused, wants: ["dropped"] },
        { from: "node", to: unused, wants: ["dropped"] },
      ],
    },
    {
      title: "responds on a node port at each address of the node, masqueraded",
      spec: NODE_PORT_SPEC,
      endpoints: ["web-1", "web-3"],
      asks: [
        { from: "outside", to: node, port: NODE_PORT, wants: as(nodeForPods, "web-1", "web-3") },
        { from: "pod-a", to: node, port: NODE_PORT, wants: as(nodeForPods, "web-1", "web-3") },
        { from: "node", to: node, port: NODE_PORT, wants: as(nodeForPods, "web-1", "web-3") },
        { from: "node", to: loopback, port: NODE_PORT, wants: onLoopback },
      ],
    },
    {
      title:
        "under externalTrafficPolicy Local, sends connections from outside to endpoints of this node with their source address",
      spec: { ...NODE_PORT_SPEC, externalTrafficPolicy: "Local", externalIPs: [external] },
      endpoints: ["web-1", "web-3"],
      asks: [
        { from: "outside", to: node, port: NODE_PORT, wants: as(outside, "web-1") },
        { from: "outside", to: external, wants: as(outside, "web-1") },
        { from: "pod-a", to: node, port: NODE_PORT, wants: as(pod, "web-1", "web-3") },
        { from: "pod-a", to: external, wants: as(pod, "web-1", "web-3") },
        { from: "node", to: node, port: NODE_PORT, wants: as(nodeForPods, "web-1", "web-3") },
      ],
    },
    {
      title: "under externalTrafficPolicy Local, drops connections from outside when no endpoint is on this node",
      spec: { ...NODE_PORT_SPEC, externalTrafficPolicy: "Local", externalIPs: [external] },
      endpoints: ["web-3"],
      asks: [
        { from: "outside", to: node, port: NODE_PORT, wants: ["dropped"] },
        { from: "outside", to: external, wants: ["dropped"] },
        { from: "pod-a", to: node, port: NODE_PORT, wants: as(pod, "web-3") },
      ],
    },
    {
      title: "under internalTrafficPolicy Local, uses endpoints of this node only",
      spec: { internalTrafficPolicy: "Local" },
      endpoints: ["web-1", "web-3"],
      asks: [{ from: "pod-a", to: vip, wants: as(pod, "web-1") }],
    },
    {
      title: "under internalTrafficPolicy Local, drops connections when no endpoint is on this node",
      spec: { internalTrafficPolicy: "Local" },
      endpoints: ["web-3"],
      asks: [{ from: "pod-a", to: vip, wants: ["dropped"] }],
    },
    {
      title: "refuses connections at every address while there is no endpoint",
      spec: { ...NODE_PORT_SPEC, externalIPs: [external] },
      endpoints: [],
      asks: [
        { from: "pod-a", to: vip, wants: ["refused"] },
        { from: "node", to: vip, wants: ["refused"] },
        { from: "outside", to: external, wants: ["refused"] },
        { from: "outside", to: node, port: NODE_PORT, wants: ["refused"] },
      ],
    },
    {
      title: "uses terminating endpoints while none is ready",
      endpoints: [],
      ending: ["web-2"],
      asks: [{ from: "pod-a", to: vip, wants: as(pod, "web-2") }],
    },
    {
      title: "prefers ready endpoints to terminating ones",
      endpoints: ["web-1"],
      ending: ["web-2"],
      asks: [{ from: "pod-a", to: vip, wants: as(pod, "web-1") }],
    },
    {
      title:
        "under externalTrafficPolicy Local, uses a terminating endpoint of this node even if another node has a ready one",
      spec: { ...NODE_PORT_SPEC, externalTrafficPolicy: "Local" },
      endpoints: ["web-3"],
      ending: ["web-1"],
      asks: [
        { from: "outside", to: node, port: NODE_PORT, wants: as(outside, "web-1") },
        { from: "pod-a", to: vip, wants: as(pod, "web-3") },
      ],
    },
    {
      title: "serves the address of a load balancer",
      spec: { type: "LoadBalancer" },
      endpoints: ["web-1"],
      loadBalancer: node,
      asks: [{ from: "outside", to: node, wants: as(nodeForPods, "web-1") }],
    },
    {
      title: "allows only loadBalancerSourceRanges at a load balancer's address, and all sources at the cluster IP",
      spec: { type: "LoadBalancer", loadBalancerSourceRanges: sources },
      endpoints: ["web-1"],
      loadBalancer: external,
      asks: [
        { from: "outside", to: external, wants: ["dropped"] },
        { from: "pod-a", to: external, wants: as(nodeForPods, "web-1") },
        { from: "outside", to: vip, wants: as(nodeForPods, "web-1") },
      ],
    },
    {
      title: "is not served at ports on which the node itself listens, whatever addresses of the node it has",
      spec: { type: "LoadBalancer", externalIPs: [nodeForPods], ports: [{ port: OWN_PORT, protocol: "TCP" }] },
      endpoints: ["web-1"],
      loadBalancer: node,
      asks: [
        { from: "pod-a", to: vip, port: OWN_PORT, wants: as(pod, "web-1") },
        { from: "outside", to: node, port: OWN_PORT, wants: ["refused"] },
        { from: "pod-a", to: node, port: OWN_PORT, wants: ["refused"] },
        { from: "pod-a", to: nodeForPods, port: OWN_PORT, wants: ["refused"] },
        { from: "node", to: nodeForPods, port: OWN_PORT, wants: ["refused"] },
      ],
    },
    {
      title: "is not served at external addresses in the range of cluster IPs",
      spec: { externalIPs: [unused] },
      endpoints: ["web-1"],
      asks: [
        { from: "outside", to: vip, wants: as(nodeForPods, "web-1") },
        { from: "outside", to: unused, wants: ["dropped"] },
        { from: "pod-a", to: unused, wants: ["dropped"] },
      ],
    },
    {
      title: "is not served at addresses of load balancers in the range of cluster IPs",
      spec: { type: "LoadBalancer" },
      endpoints: ["web-1"],
      loadBalancer: unused,
      asks: [
        { from: "outside", to: vip, wants: as(nodeForPods, "web-1") },
        { from: "outside", to: unused, wants: ["dropped"] },
        { from: "pod-a", to: unused, wants: ["dropped"] },
      ],
    },
    {
      title: "is not served at external addresses that a node has",
      spec: { externalIPs: [ofOtherNode] },
      endpoints: ["web-1"],
      asks: [{ from: "pod-a", to: ofOtherNode, wants: ["dropped"] }],
    },
    {
      title: "forwards UDP",
      spec: { ports: [{ port: 80, protocol: "UDP" }] },
      endpoints: ["web-1"],
      asks: [{ from: "pod-a", to: vip, protocol: "udp", wants: as(pod, "web-1") }],
    },
  ]
}
