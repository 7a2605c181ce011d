/**
 * A node, its pods, a pod of another node and a machine outside of the cluster, each a network namespace, for tests
 * that send real packets.
 */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { familyOf, type Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { hostIn, type Host } from "../../../pkg/netfilter/host.ts"
import { LabAgents } from "./lab-agents.fixtures.ts"

const run = promisify(execFile)

/** Pods; `web-3` is on another node. */
const PODS = ["pod-a", "web-1", "web-2", "web-3"] as const
export type LabPod = (typeof PODS)[number]
const MEMBERS = [...PODS, "node", "outside"] as const
export type LabMember = (typeof MEMBERS)[number]

export interface LabAddresses {
  readonly pods: Readonly<Record<LabPod, string>>
  readonly clusterCidr: string
  readonly outside: string
  /** The node's address outside, and the one by which pods reach it. */
  readonly node: string
  readonly nodeForPods: string
}
/** Every member has an address in each family. */
export const LAB: Readonly<Record<Family, LabAddresses>> = {
  IPv4: {
    pods: { "pod-a": "10.42.0.2", "web-1": "10.42.0.5", "web-2": "10.42.0.6", "web-3": "10.42.1.7" },
    clusterCidr: "10.42.0.0/16",
    outside: "192.0.2.9",
    node: "192.0.2.1",
    nodeForPods: "10.42.0.1",
  },
  IPv6: {
    pods: { "pod-a": "fd42::2", "web-1": "fd42::5", "web-2": "fd42::6", "web-3": "fd42::1:0:0:7" },
    clusterCidr: "fd42::/48",
    outside: "2001:db8::9",
    node: "2001:db8::1",
    nodeForPods: "fd42::1",
  },
}

const WITHOUT_DETECTION = "echo 0 | tee /proc/sys/net/ipv6/conf/*/accept_dad > /dev/null"
const alone = (address: string): string => `${address}/${familyOf(address) === "IPv6" ? 128 : 32}`
const beside = (address: string): string => `${address}/${familyOf(address) === "IPv6" ? 64 : 24}`

export class PacketLab extends LabAgents<LabMember> {
  private constructor(prefix: string) {
    super(prefix)
  }

  /** @param name distinguishes labs of one process */
  static async start(name: string): Promise<PacketLab> {
    const lab = new PacketLab(`k3ts-lab-${process.pid}-${name}`)
    const node = lab.netns("node")
    const outside = lab.netns("outside")
    const inNode = PODS.flatMap((pod, i) => {
      const ns = lab.netns(pod)
      return [
        `ip link add v${i} type veth peer name eth0 netns ${ns}`,
        `ip link set v${i} up`,
        `ip -n ${ns} link set eth0 up`,
        `ip -n ${ns} link set lo up`,
        ...Object.values(LAB).flatMap(({ pods, nodeForPods }) => [
          `ip addr add ${alone(nodeForPods)} dev v${i}`,
          `ip route add ${pods[pod]} dev v${i}`,
          `ip -n ${ns} addr add ${alone(pods[pod])} dev eth0`,
          `ip -n ${ns} route add ${nodeForPods} dev eth0`,
          `ip -n ${ns} route add default via ${nodeForPods}`,
        ]),
      ]
    })
    const script = [
      "set -e",
      ...MEMBERS.map((member) => `ip netns add ${lab.netns(member)}`),
      // Without duplicate address detection IPv6 addresses can be used at once, instead of after a second.
      ...MEMBERS.map((member) => `ip netns exec ${lab.netns(member)} sh -c "${WITHOUT_DETECTION}"`),
      `ip netns exec ${node} sh -ec '
        ip link set lo up
        echo 1 > /proc/sys/net/ipv4/ip_forward
        echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet
        echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
        ${inNode.join("\n")}
        ip link add out type veth peer name eth0 netns ${outside}
        ip link set out up
        ip -n ${outside} link set eth0 up
        ${Object.values(LAB)
          .flatMap((of) => [
            `ip addr add ${beside(of.node)} dev out`,
            `ip route add default via ${of.outside}`,
            `ip -n ${outside} addr add ${beside(of.outside)} dev eth0`,
            `ip -n ${outside} route add default via ${of.node}`,
          ])
          .join("\n")}'`,
      // A machine whose host forwards would send a packet for nobody back to the node, until its time to live is over.
      `ip netns exec ${outside} sh -ec '
        echo 0 > /proc/sys/net/ipv4/ip_forward
        echo 0 > /proc/sys/net/ipv6/conf/all/forwarding'`,
    ]
    await run("sh", ["-c", script.join("\n")])
    await Promise.all(MEMBERS.map((member) => lab.startAgent(member, member.startsWith("web-"))))
    return lab
  }

  /** The host on which a proxy writes the node's rules. */
  get host(): Host {
    return hostIn(this.netns("node"))
  }

  async stop(): Promise<void> {
    this.stopAgents()
    await Promise.all(MEMBERS.map((member) => run("ip", ["netns", "del", this.netns(member)])))
  }
}
