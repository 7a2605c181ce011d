import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ANSWER_PORT } from "../../components/kube-proxy/packets/lab-agents.fixtures.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { hostIn } from "../../pkg/netfilter/host.ts"
import { findNft } from "../../pkg/netfilter/nft.ts"
import { addressOf, baseOf, NodesLab, nodesLabLacks, type LabNode, type LabPod } from "./nodes-lab.fixtures.ts"
import { networkBetween } from "./nodes.fixtures.ts"

const lacks = nodesLabLacks() ?? ((await findNft(hostIn())).usable ? undefined : "nft")
if (lacks !== undefined) console.warn(`SKIPPED: forged packets between nodes need ${lacks}`)

describe.skipIf(lacks !== undefined)("packets between nodes", () => {
  let lab: NodesLab
  let network: Awaited<ReturnType<typeof networkBetween>>
  beforeAll(async () => {
    lab = await NodesLab.start()
    network = await networkBetween(lab, "vxlan", ["IPv4"])
    await lab.reach("one-a", addressOf("two-a", "IPv4"), ANSWER_PORT)
    await lab.reach("two-a", addressOf("one-a", "IPv4"), ANSWER_PORT)
  })
  afterAll(async () => {
    await network?.[Symbol.asyncDispose]()
    await lab?.[Symbol.asyncDispose]()
  })

  /** Returns the number of datagrams that programs of a pod have received. */
  const received = async (pod: LabPod) =>
    Number(/UdpInDatagrams +(\d+)/.exec(await lab.run(pod, "nstat", "-asz", "UdpInDatagrams"))![1])

  test.each([
    { by: "a machine outside of the cluster", sender: "outside", node: "one", victim: "one-a" },
    { by: "a pod, which leaves its node with the node's address", sender: "one-b", node: "two", victim: "two-a" },
  ] as const)(
    "with the source address of another node's pod are refused from $by",
    async ({ sender, node, victim }) => {
      // given a sender that makes packets as the nodes do, to the VXLAN port of a node
      const forged = "10.42.9.9"
      await lab.run("one", "iptables", "-t", "nat", "-A", "POSTROUTING", "-o", "eth0", "-j", "MASQUERADE")
      const remote = addressOf(node, "IPv4")
      const { VtepMAC: mac } = JSON.parse(await announced(node)) as { VtepMAC: string }
      const vxlan = ["type", "vxlan", "id", "1", "remote", remote, "dstport", "8472", "nolearning"]
      await lab.run(sender, "ip", "link", "add", "forge", ...vxlan)
      await lab.run(sender, "ip", "addr", "add", `${forged}/32`, "dev", "forge")
      await lab.run(sender, "ip", "link", "set", "forge", "up")
      const gateway = baseOf(node, "IPv4")
      await lab.run(sender, "ip", "neigh", "add", gateway, "lladdr", mac, "dev", "forge")
      const route = [`${addressOf(victim, "IPv4")}/32`, "via", gateway, "dev", "forge", "onlink", "src", forged]
      await lab.run(sender, "ip", "route", "add", ...route)
      const before = await received(victim)
      // when it sends one
      expect(await lab.ask(sender, addressOf(victim, "IPv4"), ANSWER_PORT, "udp")).toBe("dropped")
      // then
      const sent = await lab.run(sender, "ip", "-s", "-j", "link", "show", "forge")
      expect((JSON.parse(sent) as [{ stats64: { tx: { packets: number } } }])[0].stats64.tx.packets).toBeGreaterThan(0)
      expect(await received(victim)).toBe(before)
    },
  )

  test("are not tracked as connections, unlike those of pods", async () => {
    // given a rule that makes the node track connections
    const tracking =
      "add table ip t; add chain ip t c { type filter hook output priority 0; }; add rule ip t c ct state new"
    await lab.run("one", "nft", tracking)
    // when
    await lab.reach("one-a", addressOf("two-a", "IPv4"), ANSWER_PORT)
    // then
    expect(await lab.run("one", "conntrack", "-L", "-p", "tcp", "-d", addressOf("two-a", "IPv4"))).not.toBe("")
    expect(await lab.run("one", "conntrack", "-L", "-p", "udp", "--dport", "8472")).toBe("")
  })

  const announced = async (node: LabNode) => {
    const { metadata } = await network.client.get(Node, { name: node })
    return metadata.annotations!["flannel.alpha.coreos.com/backend-data"]!
  }
})
