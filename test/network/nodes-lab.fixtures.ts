/**
 * Nodes in one network segment, each with a bridge and pods, and a machine outside of the cluster: network namespaces,
 * for tests that send real packets between nodes.
 */
import { execFile, spawnSync } from "node:child_process"
import { promisify } from "node:util"
import { LabAgents } from "../../components/kube-proxy/packets/lab-agents.fixtures.ts"
import type { Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import { hostIn, type Host } from "../../pkg/netfilter/host.ts"

const run = promisify(execFile)

export const NODES = ["one", "two"] as const
export type LabNode = (typeof NODES)[number]
/** Each node has two pods. */
export const PODS = ["one-a", "one-b", "two-a", "two-b"] as const
export type LabPod = (typeof PODS)[number]
export type NodesLabMember = LabNode | LabPod | "outside" | "wire"
const AGENTS = [...NODES, ...PODS, "outside"] as const
const MEMBERS = [...AGENTS, "wire"] as const

/** What this machine lacks for a lab; undefined if nothing. */
export function nodesLabLacks(): string | undefined {
  if (process.getuid?.() !== 0) return "root"
  const programs = ["ip", "bridge", "unshare"].filter((name) => Bun.which(name) === null)
  if (programs.length > 0) return programs.join(", ")
  return makes("vxlan", "id", "1", "dstport", "8472") ? undefined : "a kernel with VXLAN"
}

/** What this machine lacks for a lab with WireGuard, in addition; undefined if nothing. */
export const wireguardLacks = (): string | undefined => (makes("wireguard") ? undefined : "a kernel with WireGuard")

const makes = (...type: readonly string[]): boolean =>
  spawnSync("unshare", ["-n", "ip", "link", "add", "v", "type", ...type]).status === 0

const number = (node: LabNode): number => NODES.indexOf(node) + 1
/** Returns the node of a pod. */
export const nodeOf = (pod: LabPod): LabNode => NODES.find((node) => pod.startsWith(node))!

/** Returns the address range of a node's pods. */
export const rangeOf = (node: LabNode, family: Family): string =>
  family === "IPv4" ? `10.42.${number(node)}.0/24` : `fd42:0:0:${number(node)}::/64`

/** The first address of that range, from which the node itself sends to pods of others. */
export const baseOf = (node: LabNode, family: Family): string => rangeOf(node, family).replace(/\/.*/, "")

export const CLUSTER_CIDRS: Readonly<Record<Family, string>> = { IPv4: "10.42.0.0/16", IPv6: "fd42::/48" }

/** Returns the address of a member in the segment, or of a pod. */
export function addressOf(member: NodesLabMember, family: Family): string {
  const pod = PODS.find((name) => name === member)
  if (pod !== undefined) {
    const host = pod.endsWith("a") ? 5 : 6
    const range = baseOf(nodeOf(pod), family)
    return family === "IPv4" ? range.replace(/0$/, String(host)) : `${range}${host}`
  }
  const node = NODES.find((name) => name === member)
  const host = node === undefined ? 9 : 10 + number(node)
  return family === "IPv4" ? `192.0.2.${host}` : `2001:db8::${host}`
}

/** The address of a node by which its pods reach others. */
export const gatewayOf = (node: LabNode, family: Family): string =>
  rangeOf(node, family).replace(family === "IPv4" ? /0\/24$/ : /\/64$/, "1")

const FAMILIES: readonly Family[] = ["IPv4", "IPv6"]
const WITHOUT_DETECTION = "echo 0 | tee /proc/sys/net/ipv6/conf/*/accept_dad > /dev/null"
const SETTINGS = [
  "net.ipv4.ip_forward=1",
  "net.ipv4.conf.all.route_localnet=1",
  "net.ipv6.conf.all.forwarding=1",
  "net.bridge.bridge-nf-call-iptables=1",
  "net.bridge.bridge-nf-call-ip6tables=1",
]

export class NodesLab extends LabAgents<NodesLabMember> implements AsyncDisposable {
  static #labs = 0

  static async start(): Promise<NodesLab> {
    const lab = new NodesLab(`k3ts-nodes-${process.pid}-${NodesLab.#labs++}`)
    const wire = lab.netns("wire")
    const plug = (member: LabNode | "outside") => [
      `ip -n ${wire} link add ${member} type veth peer name eth0 netns ${lab.netns(member)}`,
      `ip -n ${wire} link set ${member} master segment up`,
      `ip -n ${lab.netns(member)} link set eth0 up`,
      `ip -n ${lab.netns(member)} addr add ${addressOf(member, "IPv4")}/24 dev eth0`,
      `ip -n ${lab.netns(member)} addr add ${addressOf(member, "IPv6")}/64 dev eth0 nodad`,
    ]
    const machine = (node: LabNode) => [
      ...SETTINGS.map((setting) => `ip netns exec ${lab.netns(node)} sysctl -q -w ${setting}`),
      `ip -n ${lab.netns(node)} link set lo up`,
      `ip -n ${lab.netns(node)} link add cni0 type bridge`,
      `ip -n ${lab.netns(node)} link set cni0 up`,
      `ip -n ${lab.netns(node)} addr add ${gatewayOf(node, "IPv4")}/24 dev cni0`,
      `ip -n ${lab.netns(node)} addr add ${gatewayOf(node, "IPv6")}/64 dev cni0 nodad`,
      ...plug(node),
      ...FAMILIES.map((family) => `ip -n ${lab.netns(node)} route add default via ${addressOf("outside", family)}`),
    ]
    const pod = (name: LabPod) => [
      `ip -n ${lab.netns(nodeOf(name))} link add ${name} type veth peer name eth0 netns ${lab.netns(name)}`,
      `ip -n ${lab.netns(nodeOf(name))} link set ${name} master cni0 up`,
      `ip netns exec ${lab.netns(nodeOf(name))} bridge link set dev ${name} hairpin on`,
      `ip -n ${lab.netns(name)} link set lo up`,
      `ip -n ${lab.netns(name)} link set eth0 up`,
      `ip -n ${lab.netns(name)} addr add ${addressOf(name, "IPv4")}/24 dev eth0`,
      `ip -n ${lab.netns(name)} addr add ${addressOf(name, "IPv6")}/64 dev eth0 nodad`,
      ...FAMILIES.map((family) => `ip -n ${lab.netns(name)} route add default via ${gatewayOf(nodeOf(name), family)}`),
    ]
    const script = [
      "set -e",
      ...MEMBERS.map((member) => `ip netns add ${lab.netns(member)}`),
      // Without duplicate address detection IPv6 addresses can be used at once, instead of after a second.
      ...MEMBERS.map((member) => `ip netns exec ${lab.netns(member)} sh -c "${WITHOUT_DETECTION}"`),
      `ip -n ${wire} link add segment type bridge`,
      `ip -n ${wire} link set segment up`,
      ...NODES.flatMap(machine),
      ...plug("outside"),
      ...PODS.flatMap(pod),
    ]
    try {
      await run("sh", ["-c", script.join("\n")])
      await Promise.all(AGENTS.map((member) => lab.startAgent(member, true)))
    } catch (err) {
      await lab[Symbol.asyncDispose]()
      throw err
    }
    return lab
  }

  host(node: LabNode): Host {
    return hostIn(this.netns(node))
  }

  /** Runs a program in a member's network namespace, and returns what it prints. @throws Error when it fails */
  async run(member: NodesLabMember, program: string, ...args: readonly string[]): Promise<string> {
    return (await run("ip", ["netns", "exec", this.netns(member), program, ...args])).stdout
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stopAgents()
    await Promise.allSettled(MEMBERS.map((member) => run("ip", ["netns", "del", this.netns(member)])))
  }
}
