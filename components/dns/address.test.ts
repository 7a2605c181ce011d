/** In a network namespace of its own: root and unshare are needed. */
import { describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { join } from "node:path"

const works = spawnSync("unshare", ["--net", "ip", "link", "add", "probe", "type", "bridge"]).status === 0
if (!works) console.warn("SKIPPED: the test of the DNS server's addresses needs root, unshare and ip")

const file = (...path: readonly string[]) => JSON.stringify(join(import.meta.dir, ...path))

/** Holds addresses, runs a command, and holds them again; returns the interface afterwards. */
const heldAfter = (command: string): string =>
  inNamespace(`import { holdAddresses } from ${file("address.ts")}
    import { execSync } from "node:child_process"
    const addresses = ["10.43.0.10", "fd43::a"]
    await holdAddresses(addresses)
    execSync(${JSON.stringify(command)})
    await holdAddresses(addresses)
    console.log(execSync("ip addr show dev k3ts-dns", { encoding: "utf8" }))`)

/** Returns the output of a program. */
function inNamespace(program: string): string {
  const { stdout, stderr, status } = spawnSync("unshare", ["--net", process.execPath, "--eval", program], {
    encoding: "utf8",
    timeout: 9000,
  })
  if (status !== 0) throw new Error(`The program failed: ${stderr}`)
  return stdout
}

describe.skipIf(!works)("the addresses of the DNS server", () => {
  test.each([
    ["an address was deleted", "ip addr del 10.43.0.10/32 dev k3ts-dns"],
    ["an address of IPv6 was deleted", "ip addr del fd43::a/128 dev k3ts-dns"],
    ["the interface was set down", "ip link set k3ts-dns down"],
    ["the interface was deleted", "ip link delete k3ts-dns"],
  ])("come back when %s", (_title, command) => {
    const shown = heldAfter(command)
    for (const part of ["10.43.0.10/32", "fd43::a/128", ",UP"]) expect(shown).toContain(part)
  })

  test("come back when a minute is over", () => {
    const shown = inNamespace(`import { createDns } from ${file("dns.ts")}
      import { startCluster } from ${file("../cluster/testing/cluster.ts")}
      import { execSync } from "node:child_process"
      const shown = () => execSync("ip addr show dev k3ts-dns", { encoding: "utf8" })
      const cluster = await startCluster({ components: { scheduler: false, controllers: false } })
      const config = { addresses: ["10.43.0.10"], port: 5300, domain: "cluster.local", upstreams: [], holdAddresses: true }
      const dns = createDns(cluster.contextFor("dns", ["system:masters"]), config)
      await dns.start(new AbortController().signal)
      execSync("ip addr del 10.43.0.10/32 dev k3ts-dns")
      await cluster.advance("1m")
      while (!shown().includes("10.43.0.10/32")) await new Promise((resolve) => setImmediate(resolve))
      console.log(shown())
      process.exit()`)
    expect(shown).toContain("10.43.0.10/32")
  })
})
