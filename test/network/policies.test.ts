import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ANSWER_PORT, ECHO_PORT } from "../../components/kube-proxy/packets/lab-agents.fixtures.ts"
import { createNetworkPolicy, type NetworkPolicyComponent } from "../../components/network-policy/network-policy.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { NetworkPolicy } from "../../pkg/api/networking/v1/networkpolicy.ts"
import { FAMILIES } from "../../pkg/apimachinery/addresses/cidr.ts"
import { findNft } from "../../pkg/netfilter/nft.ts"
import { hostIn } from "../../pkg/netfilter/host.ts"
import { addressOf, NODES, nodeOf, NodesLab, nodesLabLacks, PODS, type NodesLabMember } from "./nodes-lab.fixtures.ts"
import { networkBetween } from "./nodes.fixtures.ts"

const lacks = nodesLabLacks() ?? ((await findNft(hostIn())).usable ? undefined : "nft")
if (lacks !== undefined) console.warn(`SKIPPED: network policies across nodes need ${lacks}`)

describe.skipIf(lacks !== undefined)("a NetworkPolicy", () => {
  let lab: NodesLab
  let network: Awaited<ReturnType<typeof networkBetween>>
  const enforcers: NetworkPolicyComponent[] = []
  beforeAll(async () => {
    lab = await NodesLab.start()
    network = await networkBetween(lab, "vxlan", FAMILIES)
    const { client, cluster } = network
    for (const name of PODS) {
      const spec = { nodeName: nodeOf(name), containers: [{ name: "only", image: "web" }] }
      await client.create(Pod, { metadata: { namespace: "default", name, labels: { pod: name } }, spec })
      const podIPs = FAMILIES.map((family) => ({ ip: addressOf(name, family) }))
      const body = { status: { phase: "Running", podIP: podIPs[0]!.ip, podIPs } }
      await client.patch(Pod, { namespace: "default", name }, { type: "merge", body }, { subresource: "status" })
    }
    for (const node of NODES) {
      const enforcer = createNetworkPolicy(cluster.contextFor("test:network-policy", ["system:masters"]), {
        nodeName: node,
        families: FAMILIES,
        bridge: "cni0",
        host: lab.host(node),
      })
      await enforcer.start(new AbortController().signal)
      enforcers.push(enforcer)
    }
    for (const family of FAMILIES) await lab.reach("one-a", addressOf("two-a", family), ANSWER_PORT)
  }, 30_000)
  afterAll(async () => {
    await Promise.all(enforcers.map((enforcer) => enforcer.stop()))
    await network?.[Symbol.asyncDispose]()
    await lab?.[Symbol.asyncDispose]()
  })

  /** Returns which of these reach a pod by all families. */
  const whoReaches = async (to: NodesLabMember, from: readonly NodesLabMember[]) => {
    const found: NodesLabMember[] = []
    for (const member of from) {
      const answers = await Promise.all(FAMILIES.map((family) => lab.ask(member, addressOf(to, family), ANSWER_PORT)))
      if (answers.every((answer) => answer.startsWith(to))) found.push(member)
      else expect(answers).toEqual(["dropped", "dropped"])
    }
    return found
  }
  const set = async (spec: NetworkPolicy["spec"]) => {
    const metadata = { namespace: "default", name: "only" }
    await network.client.delete(NetworkPolicy, metadata).catch(() => undefined)
    await network.client.create(NetworkPolicy, { metadata, spec })
    await new Promise((resolve) => setImmediate(resolve))
    await Promise.all(enforcers.map((enforcer) => enforcer.inForce()))
  }
  const pod = (name: string) => ({ podSelector: { matchLabels: { pod: name } } })

  test("selects clients on other nodes by their labels, and allows the pod's own node", async () => {
    await set({ ...pod("two-a"), policyTypes: ["Ingress"], ingress: [{ from: [pod("one-a"), pod("two-b")] }] })
    expect(await whoReaches("two-a", ["one-a", "one-b", "two-b", "one", "two"])).toEqual(["one-a", "two-b", "two"])
  })

  test("restricts what pods send to other nodes", async () => {
    await set({ ...pod("one-a"), policyTypes: ["Egress"], egress: [{ to: [pod("two-b")] }] })
    expect(await whoReaches("two-a", ["one-a", "one-b"])).toEqual(["one-b"])
    expect(await whoReaches("two-b", ["one-a", "one-b"])).toEqual(["one-a", "one-b"])
  })

  test("cuts established connections between nodes that it forbids", async () => {
    await set({ ...pod("two-a"), policyTypes: ["Ingress"], ingress: [{ from: [pod("one-a"), pod("one-b")] }] })
    const connections = FAMILIES.flatMap((family) =>
      (["one-a", "one-b"] as const).map((from) => lab.connect(from, addressOf("two-a", family), ECHO_PORT)),
    )
    const heard = () => Promise.all(connections.map(({ say }) => say("hello")))
    expect(await heard()).toEqual(["hello", "hello", "hello", "hello"])
    // when a policy of the server forbids one client
    await set({ ...pod("two-a"), policyTypes: ["Ingress"], ingress: [{ from: [pod("one-b")] }] })
    expect(await heard()).toEqual(["dropped", "hello", "dropped", "hello"])
    // and when one of a client forbids the server
    await set({ ...pod("one-b"), policyTypes: ["Egress"], egress: [] })
    const [, first, , second] = connections.map(({ say }) => say("still there?"))
    expect(await Promise.all([first, second])).toEqual(["dropped", "dropped"])
  })

  test("judges the real client of a pod on another node where a node translates the client's address", async () => {
    // given a port of one node that leads to a pod of the other, which sees the address of the node
    const [outside, port] = [addressOf("outside", "IPv4"), 30_080]
    const rules = `table ip lead {
      chain in { type nat hook prerouting priority dstnat; tcp dport ${port} dnat to ${addressOf("two-a", "IPv4")}:${ECHO_PORT}; }
      chain out { type nat hook postrouting priority srcnat; ct status dnat masquerade; }
    }`
    await lab.host("one").feed("nft", ["-f", "-"], rules.replaceAll("; }", ";\n}"))
    await set({ ...pod("two-a"), policyTypes: ["Ingress"], ingress: [{}] })
    const { say } = lab.connect("outside", addressOf("one", "IPv4"), port)
    expect(await say("hello")).toBe("hello")
    // when
    const anybodyElse = { ipBlock: { cidr: "0.0.0.0/0", except: [`${outside}/32`] } }
    await set({ ...pod("two-a"), policyTypes: ["Ingress"], ingress: [{ from: [anybodyElse] }] })
    // then
    expect(await say("still there?")).toBe("dropped")
    expect(await lab.ask("outside", addressOf("one", "IPv4"), port)).toBe("dropped")
    await lab.run("one", "nft", "delete", "table", "ip", "lead")
  })
})
