/**
 * What the truth tables do not cover: established connections, pods that start and end, and other addresses of a pod.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { PodInput, PolicyInput, World } from "./testing/is-allowed.fixtures.ts"
import { enforcing, podObject } from "./testing/packets.fixtures.ts"
import { FAMILIES, joinHostPort } from "../../pkg/apimachinery/addresses/cidr.ts"
import { FAMILY_WORD } from "../../pkg/netfilter/nft.ts"
import { inFamily } from "./testing/families.fixtures.ts"
import { ableToMakePods, GATEWAY, PodNetwork } from "./testing/pod-network.fixtures.ts"
import { addressOf } from "./testing/truth-tables.fixtures.ts"
import { decodeObject } from "../../pkg/apimachinery/decoding/decode.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { keyOf, ninePods } from "./testing/world.fixtures.ts"

const SERVER = addressOf("x/a")
const PORTS = [80, 81]
const DENY: PolicyInput = {
  namespace: "x",
  name: "web",
  podSelector: { matchLabels: { pod: "a" } },
  policyTypes: ["Ingress"],
}
const ALLOW_B: PolicyInput = { ...DENY, ingress: [{ from: [{ podSelector: { matchLabels: { pod: "b" } } }] }] }
const podNamed = (namespace: string, name: string, address: string): PodInput => ({
  namespace,
  name,
  labels: { pod: name },
  address,
  ports: [],
})
const objectOf = (pod: PodInput): Pod => decodeObject(Pod, podObject(pod)).object

describe.skipIf(!ableToMakePods).each(FAMILIES)("connections of %s under policies", (family) => {
  const at = (address: string) => inFamily(family, address)
  const ip = FAMILY_WORD[family]
  const machineAddress = at(GATEWAY)
  const service = at("10.43.0.9")
  const server = at(SERVER)
  const nine = ninePods()
  const world: World = { ...nine, pods: nine.pods.filter((pod) => ["x/a", "x/b", "y/a"].includes(keyOf(pod))) }
  let network: PodNetwork
  let cluster: Awaited<ReturnType<typeof enforcing>>
  const within =
    (timeoutMs: number) =>
    (from: string, address = server, port = 80, protocol: "TCP" | "UDP" = "TCP") =>
      network.pod(from).tell({ address, port, protocol, timeoutMs })
  /** How long an allowed connection may take on a busy machine. */
  const reach = within(30_000)
  const ask = within(300)
  const enforce = async (policy: PolicyInput) => {
    await cluster.set(policy)
    await cluster.settled()
  }
  const rules = () => cluster.host.run("nft", ["list", "table", "inet", "k3ts-network-policy"])

  beforeAll(async () => {
    network = await PodNetwork.make(Object.fromEntries(world.pods.map((pod) => [keyOf(pod), pod.address])), PORTS)
    cluster = await enforcing(network, [family])
    await cluster.write(world)
  }, 60_000)
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
    network?.[Symbol.dispose]()
  })

  test("that are established are cut in both directions when a policy forbids them, and are possible again without it", async () => {
    // given connections that the tracker knows from their beginning
    await enforce({ ...DENY, ingress: [{}] })
    await network.pod("y/a").tell({ hold: { address: server, port: 80 } })
    await network.pod("x/b").tell({ hold: { address: server, port: 80 } })
    const allowed = { hold: "ask", patienceMs: 30_000 } as const
    expect(await network.pod("y/a").tell(allowed)).toBe("x/a")
    // when
    await enforce(ALLOW_B)
    // then
    expect(await network.pod("y/a").tell({ hold: "ask" })).toBeUndefined()
    expect(await network.pod("x/b").tell(allowed)).toBe("x/a")
    // and what the server says by itself does not come through either
    expect(await network.pod("y/a").tell({ hold: "listen" })).toBeUndefined()
    // when
    await cluster.reset(world)
    // then TCP sends again what was lost
    let said: string | undefined
    for (let i = 0; i < 20 && said === undefined; i++) said = await network.pod("y/a").tell({ hold: "ask" })
    expect(said).toContain("x/a")
    for (const pod of ["y/a", "x/b"]) await network.pod(pod).tell({ hold: "end" })
  }, 60_000)

  test("of the node to its pods are allowed, with the responses of a pod without egress", async () => {
    await enforce({ ...DENY, policyTypes: ["Ingress", "Egress"] })
    expect(network.run("bash", "-c", `exec 3<>/dev/tcp/${server}/80; head -c 3 <&3`)).toBe("x/a")
    // a pod that is isolated both ways reaches nobody
    expect(await ask("x/a", at(addressOf("x/b")))).toBeUndefined()
    await enforce({ ...DENY, policyTypes: ["Egress"] })
    expect(await reach("y/a")).toBe("x/a")
    expect(await reach("y/a", server, 80, "UDP")).toBe("x/a")
    await cluster.reset(world)
  }, 60_000)

  test("of a pod without egress cannot reach the node either, except for its responses", async () => {
    await using listening = network.listenOnMachine(machineAddress, 8443)
    await listening.ready
    expect(await reach("y/a", machineAddress, 8443)).toBe("machine")
    await enforce({ ...DENY, namespace: "y", policyTypes: ["Egress"] })
    expect(await ask("y/a", machineAddress, 8443)).toBeUndefined()
    await enforce({
      ...DENY,
      namespace: "y",
      policyTypes: ["Egress"],
      egress: [{ to: [{ ipBlock: { cidr: `${GATEWAY}/32` } }], ports: [{ port: 8443 }] }],
    })
    expect(await reach("y/a", machineAddress, 8443)).toBe("machine")
    await cluster.reset(world)
  }, 60_000)

  test("through a Service are allowed by the pod behind the Service and by the original client", async () => {
    // given a Service whose connections get the node's address as their source, and one that leads a pod to itself
    network.run(
      "nft",
      `table ${ip} service {
        chain in { type nat hook prerouting priority dstnat; ${ip} daddr ${service} tcp dport 8080 dnat to ${joinHostPort(server, 80)}; }
        chain out { type nat hook postrouting priority srcnat; ct original ${ip} daddr ${service} masquerade; }
      }`.replaceAll("; }", ";\n}"),
    )
    await enforce(ALLOW_B)
    // then
    expect(await ask("y/a", service, 8080)).toBeUndefined()
    expect(await reach("x/b", service, 8080)).toBe("x/a")
    expect(await reach("x/a", service, 8080)).toBe("x/a")
    // and the other way round
    await enforce({
      ...DENY,
      namespace: "y",
      policyTypes: ["Egress"],
      egress: [{ to: [{ namespaceSelector: {}, podSelector: { matchLabels: { pod: "a" } } }], ports: [{ port: 80 }] }],
    })
    await enforce({ ...DENY, ingress: [{}] })
    expect(await reach("y/a", service, 8080)).toBe("x/a")
    await cluster.reset(world)
    network.run("nft", `delete table ${ip} service`)
  }, 60_000)

  test("cannot avoid a policy by link-local addresses or broadcast", async () => {
    await enforce(DENY)
    const everybody = family === "IPv4" ? "10.42.0.255" : "ff02::1%eth0"
    const [linkLocal] = network.addressesOf("x/a", "fe80::")
    expect(linkLocal).toMatch(/^fe80::/)
    expect(await ask("y/a", `${linkLocal}%eth0`)).toBeUndefined()
    expect(await network.pod("y/a").tell({ broadcast: { address: everybody, port: 80 } })).not.toContain("x/a")
    await cluster.reset(world)
    // without a policy both are there
    await cluster.settled()
    await until(async () => (await ask("y/a", `${linkLocal}%eth0`)) === "x/a")
    expect(await network.pod("y/a").tell({ broadcast: { address: everybody, port: 80 } })).toContain("x/a")
  }, 60_000)

  test("to hundreds and thousands of ports are distinguished", async () => {
    await enforce({
      ...DENY,
      ingress: [
        {
          ports: [
            { port: 70, endPort: 80 },
            { port: 256, endPort: 20_736 },
          ],
        },
      ],
    })
    expect(await reach("y/a", server, 80)).toBe("x/a")
    // 81 is 0x0051, 20736 is 0x5100
    expect(await ask("y/a", server, 81)).toBeUndefined()
    await cluster.reset(world)
  }, 60_000)

  test("of a pod that starts are filtered from its first packet on, even if its address belonged to an allowed pod before", async () => {
    // given a friend that goes, and policies by which a stranger may neither reach the server nor be reached
    const own = "10.42.0.77"
    const address = at(own)
    const friend = podNamed("x", "b2", own)
    await enforce({
      ...ALLOW_B,
      ingress: [
        { from: [{ podSelector: { matchExpressions: [{ key: "pod", operator: "In", values: ["b", "b2"] }] } }] },
      ],
    })
    await cluster.addPod(friend)
    await cluster.component.admit(objectOf(friend), [address])
    expect(await rules()).toContain(address)
    // when a stranger's sandbox has its address, while the API still shows the friend
    const stranger = podNamed("y", "late", own)
    await cluster.addPod(stranger, { isReported: false })
    const sandbox = network.sandbox("y/late", own)
    await cluster.set({
      namespace: "y",
      name: "late",
      podSelector: { matchLabels: { pod: "late" } },
      policyTypes: ["Ingress"],
    })
    await network.pod("x/b").tell({ hammer: { address, port: 80 } })
    await cluster.component.admit(objectOf(stranger), [address])
    await sandbox.start(PORTS)
    await sandbox.tell({ hammer: { address: server, port: 80 } })
    await new Promise((resolve) => setTimeout(resolve, 500))
    // then nothing got through, in either direction
    expect(await sandbox.tell({ hammer: "end" })).toBe("0")
    expect(await network.pod("x/b").tell({ hammer: "end" })).toBe("0")
    // and the friend's object takes nothing back
    await cluster.client.patch(Pod, friend, { type: "merge", body: { metadata: { labels: { more: "yes" } } } })
    await cluster.settled()
    expect(await sandbox.tell({ address: server, port: 80, protocol: "TCP", timeoutMs: 300 })).toBeUndefined()
    await cluster.reset(world)
    sandbox.stop()
  }, 60_000)

  test("are filtered during a restart, and so are those of a pod whose address is in no status yet", async () => {
    // given a pod that runs, of which only the kubelet knows the address
    const own = "10.42.0.78"
    const address = at(own)
    const fresh = podNamed("x", "a2", own)
    const pod = await network.add("x/a2", own, PORTS)
    await enforce({ ...DENY, podSelector: {} })
    await cluster.addPod(fresh, { isReported: false })
    await cluster.component.admit(objectOf(fresh), [address])
    expect(await ask("y/a", address)).toBeUndefined()
    // when
    await network.pod("y/a").tell({ hammer: { address, port: 80 } })
    await cluster.restart()
    await new Promise((resolve) => setTimeout(resolve, 200))
    // then
    expect(await network.pod("y/a").tell({ hammer: "end" })).toBe("0")
    expect(await ask("y/a")).toBeUndefined()
    // when the kubelet tells of it, and the policy lets it be reached
    await cluster.component.admit(objectOf(fresh), [address])
    await enforce({ ...DENY, podSelector: {}, ingress: [{}] })
    expect(await reach("y/a", address)).toBe("x/a2")
    await cluster.reset(world)
    pod.stop()
  }, 60_000)

  test("of a pod that has ended are not allowed any more: its address is removed from the sets", async () => {
    await enforce(ALLOW_B)
    expect(await rules()).toContain(at(addressOf("x/b")))
    await cluster.client.patch(
      Pod,
      { namespace: "x", name: "b" },
      { type: "merge", body: { status: { phase: "Succeeded" } } },
      { subresource: "status" },
    )
    await cluster.settled()
    expect(await rules()).not.toContain(`${at(addressOf("x/b"))} `)
    expect(await ask("x/b")).toBeUndefined()
    await cluster.client.patch(
      Pod,
      { namespace: "x", name: "b" },
      { type: "merge", body: { status: { phase: "Running" } } },
      { subresource: "status" },
    )
    await cluster.reset(world)
  }, 60_000)
})

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 40; i++) if (await holds()) return
  throw new Error("it did not come to hold")
}
