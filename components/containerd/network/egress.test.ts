/** In a network namespace of its own: root, iptables and unshare are needed. */
import { describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { join } from "node:path"

const works = spawnSync("unshare", ["--net", "iptables-save", "-t", "nat"]).status === 0
if (!works) console.warn("SKIPPED: the test of pod egress needs root, unshare and iptables")

/** Runs `script` with the functions of egress.ts in a new network namespace; returns what it logs. */
function inNamespace(script: string): string {
  const module = JSON.stringify(join(import.meta.dir, "egress.ts"))
  const program = `import { allowPodEgress, removePodEgress } from ${module}
    import { execFileSync } from "node:child_process"
    import fs from "node:fs"
    const rules = () => ["iptables-save", "ip6tables-save"].flatMap((save) => execFileSync(save, { encoding: "utf8" }).split("\\n").filter((line) => line.startsWith("-A"))).join("\\n")
    ${script}`
  const { stdout, stderr, status } = spawnSync("unshare", ["--net", process.execPath, "--eval", program], {
    encoding: "utf8",
  })
  expect([status, stderr]).toEqual([0, ""])
  return stdout.trim()
}

const rulesFor = (cidr: string, multicast: string) =>
  [
    '-A FORWARD -m comment --comment "k3ts pods" -j K3TS-FORWARD',
    `-A K3TS-FORWARD -s ${cidr} -j ACCEPT`,
    `-A K3TS-FORWARD -d ${cidr} -j ACCEPT`,
    '-A POSTROUTING -m comment --comment "k3ts pods" -j K3TS-EGRESS',
    `-A K3TS-EGRESS ! -s ${cidr} -j RETURN`,
    `-A K3TS-EGRESS -d ${cidr} -j RETURN`,
    `-A K3TS-EGRESS -d ${multicast} -j RETURN`,
    "-A K3TS-EGRESS -j MASQUERADE",
  ].sort()

describe.skipIf(!works)("allowPodEgress", () => {
  test.each([
    {
      family: "IPv4",
      cidr: "10.42.0.0/16",
      older: "10.44.0.0/16",
      multicast: "224.0.0.0/4",
      sysctl: "ipv4/ip_forward",
    },
    {
      family: "IPv6",
      cidr: "fd42::/56",
      older: "fd44::/56",
      multicast: "ff00::/8",
      sysctl: "ipv6/conf/all/forwarding",
    },
  ])(
    "forwards for pods of $family and masquerades packets that leave the cluster, with one rule however often it is called",
    ({ cidr, older, multicast, sysctl }) => {
      const rules = inNamespace(`
        await allowPodEgress("${older}")
        await allowPodEgress("${cidr}")
        console.log(rules())
        console.log(execFileSync("cat", ["/proc/sys/net/${sysctl}"], { encoding: "utf8" }).trim())`)
      expect(rules.split("\n").sort()).toEqual([...rulesFor(cidr, multicast), "1"].sort())
    },
  )

  test.each([
    ["a jump", "iptables -t nat -F POSTROUTING"],
    ["the other jump", "iptables -F FORWARD"],
    ["a rule", "iptables -t nat -D K3TS-EGRESS -j MASQUERADE"],
    ["a chain", "iptables -F FORWARD && iptables -F K3TS-FORWARD && iptables -X K3TS-FORWARD"],
    ["forwarding", "echo 0 > /proc/sys/net/ipv4/ip_forward"],
  ])("puts %s back that another program has removed", (_title, command) => {
    const rules = inNamespace(`
      await allowPodEgress("10.42.0.0/16")
      execFileSync("sh", ["-c", ${JSON.stringify(command)}])
      await allowPodEgress("10.42.0.0/16")
      console.log(rules())
      console.log(execFileSync("cat", ["/proc/sys/net/ipv4/ip_forward"], { encoding: "utf8" }).trim())`)
    expect(rules.split("\n").sort()).toEqual([...rulesFor("10.42.0.0/16", "224.0.0.0/4"), "1"].sort())
  })

  test.each([
    ["IPv4", "iptables-restore", "10.42.0.0/16"],
    ["IPv6", "ip6tables-restore", "fd42::/56"],
  ])("writes no rules of %s that are there", (_family, program, cidr) => {
    const writes = inNamespace(`
      const dir = fs.mkdtempSync("/tmp/k3ts-egress-")
      const real = execFileSync("which", ["${program}"], { encoding: "utf8" }).trim()
      fs.writeFileSync(dir + "/${program}", "#!/bin/sh\\necho >> " + dir + "/writes\\nexec " + real + ' "$@"\\n', { mode: 0o755 })
      process.env.PATH = dir + ":" + process.env.PATH
      for (let i = 0; i < 3; i++) await allowPodEgress("${cidr}")
      console.log(fs.readFileSync(dir + "/writes", "utf8").length)
      fs.rmSync(dir, { recursive: true })`)
    expect(writes).toBe("1")
  })

  test("keeps the routes that interfaces get from router advertisements", () => {
    const settings = inNamespace(`
      for (const [i, value] of ["0", "1", "2"].entries()) {
        execFileSync("ip", ["link", "add", "d" + i, "type", "bridge"])
        execFileSync("sh", ["-c", "echo " + value + " > /proc/sys/net/ipv6/conf/d" + i + "/accept_ra"])
      }
      await allowPodEgress("fd42::/56")
      console.log(execFileSync("sh", ["-c", "cat /proc/sys/net/ipv6/conf/d?/accept_ra"], { encoding: "utf8" }))`)
    expect(settings.split("\n")).toEqual(["0", "2", "2"])
  })

  test("is removed completely, and the rules of other programs stay", () => {
    const rules = inNamespace(`
      execFileSync("iptables", ["-t", "nat", "-A", "POSTROUTING", "-s", "192.0.2.0/24", "-j", "MASQUERADE"])
      await allowPodEgress("10.42.0.0/16")
      await allowPodEgress("fd42::/56")
      await removePodEgress()
      await removePodEgress()
      console.log(rules())`)
    expect(rules).toBe("-A POSTROUTING -s 192.0.2.0/24 -j MASQUERADE")
  })
})
