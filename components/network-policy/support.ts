import { readFile, writeFile } from "node:fs/promises"
import type { Host } from "../../pkg/netfilter/host.ts"
import { judgeNft } from "../../pkg/netfilter/nft.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { release } from "node:os"

/**
 * A table with everything that policies need: verdict maps, sets with two keys and sets of ranges, the addresses of a
 * connection.
 */
const TRIAL = `add table inet k3ts-trial
add chain inet k3ts-trial hooked { type filter hook forward priority -10 ; }
add chain inet k3ts-trial group
add map inet k3ts-trial pods { type ipv4_addr : verdict ; }
add set inet k3ts-trial selves { type ipv4_addr . ipv4_addr ; }
add set inet k3ts-trial numbers { type inet_service ; flags interval ; }
add rule inet k3ts-trial hooked fib daddr type { broadcast, multicast } drop
add rule inet k3ts-trial hooked ct original ip saddr . ct reply ip saddr @selves accept
add rule inet k3ts-trial hooked meta l4proto tcp ct reply proto-src @numbers ct reply ip saddr vmap @pods
add element inet k3ts-trial pods { 192.0.2.1 : goto group }
`

/** Returns why NetworkPolicies cannot be enforced on the machine; undefined when they can. */
export async function unenforceable(host: Host): Promise<string | undefined> {
  const version = await host.run("nft", ["--version"]).catch(() => undefined)
  const judged = judgeNft(version, release())
  if (!judged.usable) return `${judged.reason}: ${judged.mend}`
  try {
    await host.feed("nft", ["--check", "-f", "-"], TRIAL)
    return undefined
  } catch (err) {
    return `the kernel refuses a trial of the rules: ${errorMessage(err).split("\n")[0]}`
  }
}

const BRIDGE_FILTER = "/proc/sys/net/bridge/bridge-nf-call-"

/**
 * Makes packets between pods on one bridge pass the rules. Returns why that is impossible, or undefined: without it
 * policies apply to traffic between pods and the world, but not between two pods of this node.
 */
export async function filterBridges(): Promise<string | undefined> {
  try {
    for (const family of ["iptables", "ip6tables"]) {
      const setting = `${BRIDGE_FILTER}${family}`
      if ((await readFile(setting, "utf8")).trim() !== "1") await writeFile(setting, "1")
    }
    return undefined
  } catch {
    return "the kernel does not filter packets between pods of one node: modprobe br_netfilter, or boot a kernel with it"
  }
}
