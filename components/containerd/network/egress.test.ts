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
    const rules = () => execFileSync("iptables-save", { encoding: "utf8" }).split("\\n").filter((line) => line.startsWith("-A")).join("\\n")
    ${script}`
  const { stdout, stderr, status } = spawnSync("unshare", ["--net", process.execPath, "--eval", program], {
    encoding: "utf8",
  })
  expect([status, stderr]).toEqual([0, ""])
  return stdout.trim()
}

describe.skipIf(!works)("allowPodEgress", () => {
  test("forwards for pods and masquerades what leaves the cluster, once, however often it is called", () => {
    const rules = inNamespace(`
      await allowPodEgress("10.44.0.0/16")
      await allowPodEgress("10.42.0.0/16")
      console.log(rules())
      console.log(execFileSync("cat", ["/proc/sys/net/ipv4/ip_forward"], { encoding: "utf8" }).trim())`)
    expect(rules.split("\n").sort()).toEqual(
      [
        '-A FORWARD -m comment --comment "k3ts pods" -j K3TS-FORWARD',
        "-A K3TS-FORWARD -s 10.42.0.0/16 -j ACCEPT",
        "-A K3TS-FORWARD -d 10.42.0.0/16 -j ACCEPT",
        '-A POSTROUTING -m comment --comment "k3ts pods" -j K3TS-EGRESS',
        "-A K3TS-EGRESS ! -s 10.42.0.0/16 -j RETURN",
        "-A K3TS-EGRESS -d 10.42.0.0/16 -j RETURN",
        "-A K3TS-EGRESS -d 224.0.0.0/4 -j RETURN",
        "-A K3TS-EGRESS -j MASQUERADE",
        "1",
      ].sort(),
    )
  })

  test("is undone without a trace, and leaves the rules of others", () => {
    const rules = inNamespace(`
      execFileSync("iptables", ["-t", "nat", "-A", "POSTROUTING", "-s", "192.0.2.0/24", "-j", "MASQUERADE"])
      await allowPodEgress("10.42.0.0/16")
      await removePodEgress()
      await removePodEgress()
      console.log(rules())`)
    expect(rules).toBe("-A POSTROUTING -s 192.0.2.0/24 -j MASQUERADE")
  })
})
