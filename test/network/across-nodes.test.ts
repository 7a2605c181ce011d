import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ANSWER_PORT } from "../../components/kube-proxy/packets/lab-agents.fixtures.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import { tableNames } from "../../pkg/netfilter/nft.ts"
import {
  addressOf,
  NodesLab,
  nodesLabLacks,
  wireguardLacks,
  type LabNode,
  type NodesLabMember,
} from "./nodes-lab.fixtures.ts"
import { networkBetween } from "./nodes.fixtures.ts"

const lacks = nodesLabLacks()
if (lacks !== undefined) console.warn(`SKIPPED: pods of several nodes need ${lacks}`)

const backends = [
  { backend: "vxlan", families: ["IPv4"] },
  { backend: "vxlan", families: ["IPv6"] },
  { backend: "vxlan", families: ["IPv4", "IPv6"] },
  { backend: "host-gw", families: ["IPv4", "IPv6"] },
  { backend: "wireguard-native", families: ["IPv4", "IPv6"] },
] as const
const noWireguard = lacks ?? wireguardLacks()
if (noWireguard !== undefined) console.warn(`SKIPPED: pods of several nodes by WireGuard need ${noWireguard}`)

/** Polls until the condition holds. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve))
}

describe.skipIf(lacks !== undefined)("pods of two nodes", () => {
  let lab: NodesLab
  beforeAll(async () => {
    lab = await NodesLab.start()
  })
  afterAll(() => lab?.[Symbol.asyncDispose]())

  const ask = (from: NodesLabMember, to: NodesLabMember, family: Family) =>
    lab.ask(from, addressOf(to, family), ANSWER_PORT)

  /** Returns what a node has in its kernel about other nodes. */
  const traces = async (node: LabNode): Promise<readonly string[]> =>
    [
      await lab.run(node, "ip", "route", "show", "proto", "107"),
      await lab.run(node, "ip", "-6", "route", "show", "proto", "107"),
      await lab.run(node, "ip", "-o", "link"),
    ]
      .flatMap((text) => text.split("\n"))
      .filter((line) => / (via|dev) |: k3ts-/.test(line))

  test.each(backends.filter(({ backend }) => backend !== "wireguard-native" || noWireguard === undefined))(
    "reach each other by $backend with their own addresses of $families",
    async (given) => {
      // given two nodes that know nothing of each other
      for (const family of given.families) expect(await ask("one-a", "two-a", family)).not.toStartWith("two-a")
      // when
      await using network = await networkBetween(lab, given.backend, given.families)
      // then
      for (const family of given.families) {
        await lab.reach("one-a", addressOf("two-a", family), ANSWER_PORT)
        expect(await ask("one-a", "two-a", family)).toBe(`two-a as ${addressOf("one-a", family)}`)
        expect(await ask("two-b", "one-b", family)).toBe(`one-b as ${addressOf("two-b", family)}`)
        // and a node itself reaches pods of the other, which answer by the same way
        expect(await ask("one", "two-a", family)).toStartWith("two-a as ")
      }
      expect([network.problem("one"), network.problem("two")]).toEqual([undefined, undefined])
      // and when the other node leaves, nothing of it is left
      await network.client.delete(Node, { name: "two" })
      await until(async () => (await traces("one")).length === 0)
      // and when it comes again, its pods are reached again
      await network.add("two")
      for (const family of given.families) await lab.reach("one-a", addressOf("two-a", family), ANSWER_PORT)
    },
  )

  test.each([
    ["no checksum besides the pods' own", "IPv4", { udp_csum: false }],
    ["a checksum, as IPv6 demands,", "IPv6", { udp_zero_csum6_tx: false }],
  ] as const)("get packets with %s in the VXLAN's datagrams over %s", async (_, family, info_data) => {
    await using _network = await networkBetween(lab, "vxlan", [family])
    await lab.reach("one-a", addressOf("two-a", family), ANSWER_PORT)
    const [link] = JSON.parse(await lab.run("one", "ip", "-d", "-j", "link", "show", "k3ts-vxlan")) as unknown[]
    expect(link).toMatchObject({ linkinfo: { info_data } })
  })

  test("reach each other after a node gets another address, and after a node loses its routes", async () => {
    // given
    await using network = await networkBetween(lab, "vxlan", ["IPv4", "IPv6"])
    await lab.reach("one-a", addressOf("two-a", "IPv6"), ANSWER_PORT)
    // when
    const [before, after] = [addressOf("two", "IPv4"), "192.0.2.77"]
    const renumber = async (from: string, to: string) => {
      await lab.run("two", "ip", "addr", "del", `${from}/24`, "dev", "eth0")
      await lab.run("two", "ip", "addr", "add", `${to}/24`, "dev", "eth0")
    }
    await renumber(before, after)
    await network.moveTo("two", [after])
    // then
    await lab.reach("one-a", addressOf("two-a", "IPv4"), ANSWER_PORT)
    await lab.reach("two-a", addressOf("one-a", "IPv6"), ANSWER_PORT)
    expect(await lab.run("one", "bridge", "fdb", "show", "dev", "k3ts-vxlan")).toContain(`dst ${after} `)
    // and when the ways are taken away while k3ts does not run, they are there again after its start
    await network.stop("one")
    await lab.run("one", "ip", "link", "delete", "k3ts-vxlan")
    await network.start("one")
    expect(await ask("one-a", "two-a", "IPv4")).toBe(`two-a as ${addressOf("one-a", "IPv4")}`)
    await renumber(after, before)
  })

  test("are reached on the bridge of their own node although a Node of an earlier name of that machine is left", async () => {
    // given a machine that had another name, and with it the range that its bridge still has
    await using network = await networkBetween(lab, "vxlan", ["IPv4"])
    await lab.reach("one-a", addressOf("two-a", "IPv4"), ANSWER_PORT)
    await network.stop("one")
    const { metadata, status } = await network.client.get(Node, { name: "one" })
    const earlier = { name: "earlier", annotations: metadata.annotations ?? {} }
    await network.client.create(Node, {
      metadata: earlier,
      spec: { podCIDR: "10.42.9.0/24", podCIDRs: ["10.42.9.0/24"] },
    })
    const addresses = { status: { addresses: status.addresses ?? [] } }
    await network.client.patch(Node, earlier, { type: "merge", body: addresses }, { subresource: "status" })
    // when
    await network.start("one")
    // then only the other machine's range has a route, and that machine has one for both names
    const routes = (node: LabNode) => lab.run(node, "ip", "route", "show", "proto", "107")
    expect((await routes("one")).match(/^\S+/gm)).toEqual(["10.42.2.0/24"])
    await until(async () => (await routes("two")).includes("10.42.9.0/24"))
    expect(await ask("one-a", "two-a", "IPv4")).toBe(`two-a as ${addressOf("one-a", "IPv4")}`)
    await network.client.delete(Node, { name: "earlier" })
  })

  test("reach each other after a change of the backend, which leaves nothing of the earlier one", async () => {
    await using first = await networkBetween(lab, "vxlan", ["IPv4"])
    await lab.reach("one-a", addressOf("two-a", "IPv4"), ANSWER_PORT)
    for (const node of ["one", "two"] as const) await first.stop(node)
    // when
    await using second = await networkBetween(lab, "host-gw", ["IPv4"])
    // then
    const isOneRoute = async (node: LabNode) => /^10\.42\.\S+ via [^,]*$/.test((await traces(node)).join())
    await until(async () => (await isOneRoute("one")) && (await isOneRoute("two")))
    expect(await traces("one")).toEqual([`10.42.2.0/24 via ${addressOf("two", "IPv4")} dev eth0 `])
    expect(await tableNames(lab.host("one"), "inet")).not.toContain("k3ts-between-nodes")
    await lab.reach("one-a", addressOf("two-a", "IPv4"), ANSWER_PORT)
    expect(second.problem("one")).toBeUndefined()
  })

  test("are handled separately: a node that cannot be reached is reported, and the others are reached", async () => {
    // given a third Node with another backend
    const annotations = {
      "flannel.alpha.coreos.com/backend-type": "host-gw",
      "flannel.alpha.coreos.com/public-ip": "192.0.2.13",
    }
    await using network = await networkBetween(lab, "vxlan", ["IPv4"])
    const podCIDRs = ["10.42.3.0/24"]
    // when
    await network.client.create(Node, {
      metadata: { name: "three", annotations },
      spec: { podCIDR: podCIDRs[0]!, podCIDRs },
    })
    // then
    await until(async () => network.problem("one") !== undefined)
    expect(network.problem("one")).toBe("node three: it has the backend host-gw, this node vxlan")
    await lab.reach("one-a", addressOf("two-a", "IPv4"), ANSWER_PORT)
  })
})
