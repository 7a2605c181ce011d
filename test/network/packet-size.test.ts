import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ANSWER_PORT } from "../../components/kube-proxy/packets/lab-agents.fixtures.ts"
import { FAMILIES } from "../../pkg/apimachinery/addresses/cidr.ts"
import { addressOf, gatewayOf, NodesLab, nodesLabLacks, type NodesLabMember } from "./nodes-lab.fixtures.ts"
import { networkBetween } from "./nodes.fixtures.ts"

const lacks = nodesLabLacks()
if (lacks !== undefined) console.warn(`SKIPPED: sizes of packets between nodes need ${lacks}`)

/** Counters of fragments that were created or reassembled. Source: include/linux/snmp.h. */
const FRAGMENTS = ["IpFragCreates", "IpReasmReqds", "Ip6FragCreates", "Ip6ReasmReqds"]

describe.skipIf(lacks !== undefined).each(FAMILIES)("between nodes a datagram of %s", (family) => {
  let lab: NodesLab
  let network: Awaited<ReturnType<typeof networkBetween>>
  beforeAll(async () => {
    lab = await NodesLab.start()
    network = await networkBetween(lab, "vxlan", FAMILIES)
    await lab.reach("one-a", addressOf("two-a", family), ANSWER_PORT)
  })
  afterAll(async () => {
    await network?.[Symbol.asyncDispose]()
    await lab?.[Symbol.asyncDispose]()
  })

  const socket = (from: NodesLabMember) => lab.connect(from, addressOf("two-a", family), ANSWER_PORT, "udp")
  const bytes = (count: number) => "x".repeat(count)
  const answer = (from: NodesLabMember) => `two-a as ${addressOf(from, family)}`
  const fragments = async () => {
    const counters = await Promise.all(
      (["one-a", "one", "two", "two-a"] as const).map((member) => lab.run(member, "nstat", "-asz", ...FRAGMENTS)),
    )
    return counters.flatMap((text) => [...text.matchAll(/^Ip\w+ +(\d+)/gm)].map(([, count]) => Number(count)))
  }
  /** The packets that a node has sent to others. */
  const sent = async () => {
    const [link] = JSON.parse(await lab.run("one", "ip", "-s", "-j", "link", "show", "k3ts-vxlan")) as [
      { stats64: { tx: { packets: number } } },
    ]
    return link.stats64.tx.packets
  }

  test("with 1,400 bytes passes as one packet that must not be fragmented", async () => {
    // given so many datagrams that what the kernel sends of its own accord meanwhile does not matter
    const count = 10
    const before = await sent()
    for (let i = 0; i < count; i++) expect(await socket("one-a").say(bytes(1400))).toBe(answer("one-a"))
    // then none of them took two packets
    expect((await sent()) - before).toBeWithin(count, 2 * count)
    expect(new Set(await fragments())).toEqual(new Set([0]))
  })

  test("that is too large makes the kernel report the limit to the pod, whose next datagram arrives", async () => {
    const old = socket("one-a")
    expect(await old.say(bytes(1450))).toBe("dropped")
    expect(await old.say(bytes(1450))).toBe(answer("one-a"))
  })

  test("that is too large is fragmented by a pod whose default route has the MTU", async () => {
    const version = family === "IPv4" ? "-4" : "-6"
    await lab.run("one-b", "ip", version, "route", "change", "default", "via", gatewayOf("one", family), "mtu", "1450")
    expect(await socket("one-b").say(bytes(1450))).toBe(answer("one-b"))
  })
})
