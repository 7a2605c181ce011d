/** Sends real packets between network namespaces. Needs root, ip, nft and busybox. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { hostIn } from "../../../../pkg/netfilter/host.ts"
import { busybox } from "../../needs.fixtures.ts"
import { LACKING, PluginLab } from "../plugin/plugin-lab.fixtures.ts"
import { removeSourceGuard, sourceGuardProblem } from "./source-guard.ts"
import { TABLE } from "./source-table.ts"

const problem = LACKING.length > 0 ? `need ${LACKING.join(", ")}` : await sourceGuardProblem(hostIn())
if (problem !== undefined) console.warn(`SKIPPED: the tests of pods' sources: ${problem}`)

const FAMILIES = [
  { family: "IPv4", index: 0, gateway: "10.98.0.1" },
  { family: "IPv6", index: 1, gateway: "fd98::1" },
]

describe.skipIf(problem !== undefined)("a pod with all rights in its network namespace", () => {
  let lab: PluginLab
  let [attacker, victim] = [
    { name: "", addresses: [] as readonly string[] },
    { name: "", addresses: [] as readonly string[] },
  ]
  const inside = (...command: readonly string[]) => lab.run(attacker.name, ...command)
  const macOfPod = (pod: string) => /link\/ether (\S+)/.exec(lab.run(pod, "ip", "link", "show", "eth0"))![1]!
  /** The hardware address that the machine knows for an address. */
  const neighbour = (address: string) =>
    /lladdr (\S+)/.exec(lab.run(lab.machine, "ip", "neigh", "show", address))?.[1] ?? "none"
  beforeAll(async () => {
    lab = await PluginLab.start({ guarded: true })
    attacker = await lab.pod("attacker")
    victim = await lab.pod("victim")
  })
  afterAll(() => lab?.[Symbol.asyncDispose]())

  test.each(FAMILIES)("reaches other pods from its own address of $family", ({ index, gateway }) => {
    const targets = [gateway, victim.addresses[index]!, attacker.addresses[index]!]
    expect(targets.map((address) => lab.reaches(attacker.name, address))).toEqual([true, true, true])
  })

  test("gets no response at an address that is not its own, whether another pod has it or not", async () => {
    const foreign = [...victim.addresses, "10.98.0.200", "fd98::200"]
    const bits = (address: string) => (address.includes(":") ? ["/128", "nodad"] : ["/32"])
    for (const address of foreign) {
      const [prefix = "", ...flags] = bits(address)
      inside("ip", "address", "add", address + prefix, "dev", "eth0", ...flags)
    }
    const asked = foreign.map((address) =>
      lab.isAnswered(attacker.name, address.includes(":") ? "fd98::1" : "10.98.0.1", "-I", address),
    )
    expect(await Promise.all(asked)).toEqual(foreign.map(() => false))
    for (const address of foreign) inside("ip", "address", "delete", address + bits(address)[0]!, "dev", "eth0")
  })

  test("cannot claim another pod's address by ARP", () => {
    // given a machine that knows the victim
    const address = victim.addresses[0]!
    expect(lab.reaches(lab.machine, address)).toBe(true)
    const known = neighbour(address)
    expect(known).toBe(macOfPod(victim.name))
    // when the attacker says that it has the address
    inside("ip", "address", "add", `${address}/32`, "dev", "eth0")
    inside(busybox!, "arping", "-U", "-c", "2", "-I", "eth0", "-s", address, address)
    inside("ip", "address", "delete", `${address}/32`, "dev", "eth0")
    // then the machine believes what it did
    expect(neighbour(address)).toBe(known)
    expect(lab.reaches(lab.machine, address)).toBe(true)
  })

  test("cannot claim another pod's address by neighbour discovery", () => {
    const address = victim.addresses[1]!
    expect(lab.reaches(lab.machine, address)).toBe(true)
    const before = dropped()
    // when its kernel announces the address, as it does for an interface that comes up
    inside("ip", "address", "add", `${address}/128`, "dev", "eth0", "nodad")
    inside("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/eth0/ndisc_notify")
    inside("ip", "link", "set", "eth0", "address", "0a:58:00:00:00:99")
    inside("ip", "link", "set", "eth0", "address", macOfTheAttacker())
    // then the announcements are dropped, and the machine believes what it did
    expect(dropped()).toBeGreaterThan(before)
    expect(neighbour(address)).toBe(macOfPod(victim.name))
    inside("ip", "address", "delete", `${address}/128`, "dev", "eth0")
  })

  test("can neither send with another pod's hardware address nor receive packets for it", () => {
    const [own, other] = [macOfPod(attacker.name), macOfPod(victim.name)]
    inside("ip", "link", "set", "eth0", "address", other)
    expect(lab.reaches(attacker.name, "10.98.0.1")).toBe(false)
    // the bridge has not learned that the victim is at the attacker's port
    expect(lab.reaches(lab.machine, victim.addresses[0]!)).toBe(true)
    inside("ip", "link", "set", "eth0", "address", own)
    expect(lab.reaches(attacker.name, "10.98.0.1")).toBe(true)
  })

  test("is restricted from its first packet on", async () => {
    // given a namespace that sends from a foreign address as soon as it has an interface
    const container = lab.sandbox("early")
    lab.run(
      lab.machine,
      "nft",
      "add table ip seen; add chain ip seen in { type filter hook prerouting priority -300 ; }",
    )
    lab.run(lab.machine, "nft", "add rule ip seen in ip saddr 10.98.0.201 counter")
    const script = `while :; do ip address add 10.98.0.201/32 dev eth0; ping -c 3 -i 0.01 -W 1 -I 10.98.0.201 10.98.0.1; done`
    const sending = spawn("ip", ["netns", "exec", container, busybox!, "sh", "-c", `${script} >/dev/null 2>&1`])
    const before = dropped()
    // when it gets one
    await lab.call("ADD", container)
    while (dropped() === before) await new Promise((resolve) => setImmediate(resolve))
    sending.kill("SIGKILL")
    // then no such packet came to the machine
    expect(lab.run(lab.machine, "nft", "list", "chain", "ip", "seen", "in")).toContain("counter packets 0 bytes 0")
  })

  test("leaves no rules behind when it is removed", async () => {
    const { name, addresses } = await lab.pod("forgotten")
    expect(table()).toContain(addresses[0]!)
    await lab.call("DEL", name)
    expect(addresses.filter((address) => table().includes(` ${address} `))).toEqual([])
    expect(table()).toContain(victim.addresses[1]!)
  })

  test("is restricted again after the ruleset was flushed, when the next pod starts", async () => {
    lab.run(lab.machine, "nft", "flush", "ruleset")
    const { addresses } = await lab.pod("later")
    for (const address of [...addresses, ...attacker.addresses]) expect(table()).toContain(address)
    expect(lab.reaches(attacker.name, "10.98.0.1")).toBe(true)
  })

  test("can use its link-local address, and reaches others by theirs", async () => {
    const [address = ""] = /fe80::[0-9a-f:]+/.exec(lab.run(victim.name, "ip", "-6", "address", "show", "eth0")) ?? []
    // The kernel looks for a second whether another has its own.
    const isTentative = () => inside("ip", "-6", "address", "show", "eth0").includes("tentative")
    for (let left = 2000; left > 0 && isTentative(); left--) await new Promise((resolve) => setImmediate(resolve))
    expect(isTentative()).toBe(false)
    expect(lab.reaches(attacker.name, `${address}%eth0`)).toBe(true)
  })

  test("leaves no table when the guard is removed", async () => {
    await removeSourceGuard(hostIn(lab.machine))
    expect(lab.run(lab.machine, "nft", "list", "tables")).not.toContain(TABLE)
    await removeSourceGuard(hostIn(lab.machine))
  })

  const table = () => lab.run(lab.machine, "nft", "list", "table", "bridge", TABLE)
  const dropped = () =>
    [...table().matchAll(/counter packets (\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0)
  const macOfTheAttacker = () => {
    const [a, b, c, d] = attacker.addresses[0]!.split(".").map((part) => Number(part).toString(16).padStart(2, "0"))
    return `0a:58:${a}:${b}:${c}:${d}`
  }
})
