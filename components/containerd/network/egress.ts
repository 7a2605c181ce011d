import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { FAMILIES, familyOf, type Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { run } from "../../../pkg/process/run.ts"

/** Chains of our own, which can be rewritten and removed without touching other rules. */
const NAT_CHAIN = "K3TS-EGRESS"
const FILTER_CHAIN = "K3TS-FORWARD"

const IPTABLES: Readonly<Record<Family, string>> = { IPv4: "iptables", IPv6: "ip6tables" }
const MULTICAST: Readonly<Record<Family, string>> = { IPv4: "224.0.0.0/4", IPv6: "ff00::/8" }

/**
 * Lets pods reach hosts outside of the cluster: enables forwarding, allows it for the pods' range, and gives packets
 * that leave the cluster the node's address, since no other host has a route to pods. Packets between pods keep their
 * source, as Kubernetes promises. May be called again. Without `masquerades` pods keep their source everywhere, for
 * networks that have routes to them. Flannel does the same for k3s (pkg/trafficmngr/iptables there).
 */
export async function allowPodEgress(clusterCidr: string, masquerades = true): Promise<void> {
  const family = familyOf(clusterCidr)
  forward(family)
  const nat = [
    `-A ${NAT_CHAIN} ! -s ${clusterCidr} -j RETURN`,
    `-A ${NAT_CHAIN} -d ${clusterCidr} -j RETURN`,
    `-A ${NAT_CHAIN} -d ${MULTICAST[family]} -j RETURN`,
    ...(masquerades ? [`-A ${NAT_CHAIN} -j MASQUERADE`] : []),
  ]
  const filter = [`-A ${FILTER_CHAIN} -s ${clusterCidr} -j ACCEPT`, `-A ${FILTER_CHAIN} -d ${clusterCidr} -j ACCEPT`]
  // Each write has all programs that follow the kernel's rules read them again.
  const isThere =
    (await hasRules(family, "nat", NAT_CHAIN, nat)) && (await hasRules(family, "filter", FILTER_CHAIN, filter))
  if (!isThere)
    await restore(family, [
      ...["*nat", `:${NAT_CHAIN} - [0:0]`, ...nat, "COMMIT"],
      ...["*filter", `:${FILTER_CHAIN} - [0:0]`, ...filter, "COMMIT"],
    ])
  await ensureJump(family, "nat", "POSTROUTING", NAT_CHAIN)
  await ensureJump(family, "filter", "FORWARD", FILTER_CHAIN)
}

/** Whether a chain has these rules and no others. */
async function hasRules(family: Family, table: string, chain: string, rules: readonly string[]): Promise<boolean> {
  const text = await run(IPTABLES[family], ["-w", "-t", table, "-S", chain]).catch(() => "")
  return text.trim() === [`-N ${chain}`, ...rules].join("\n")
}

/** Removes the rules of `allowPodEgress`. Forwarding stays enabled, since other programs may need it by now. */
export async function removePodEgress(families: readonly Family[] = FAMILIES): Promise<void> {
  for (const family of families)
    for (const [table, parent, chain] of [
      ["nat", "POSTROUTING", NAT_CHAIN],
      ["filter", "FORWARD", FILTER_CHAIN],
    ] as const) {
      const isThere = await run(IPTABLES[family], ["-w", "-t", table, "-S", chain]).then(
        () => true,
        () => false,
      )
      if (!isThere) continue
      for (const args of [
        ["-D", parent, ...jumpTo(chain)],
        ["-F", chain],
        ["-X", chain],
      ]) {
        await run(IPTABLES[family], ["-w", "-t", table, ...args]).catch(() => undefined) // it may not exist
      }
    }
}

const INTERFACES = "/proc/sys/net/ipv6/conf"

/**
 * Enables forwarding. An IPv6 interface then ignores router advertisements, from which most machines get their default
 * route, unless `accept_ra` is 2; so it is set on interfaces that accept them now. Source:
 * Documentation/networking/ip-sysctl.rst of Linux.
 */
function forward(family: Family): void {
  if (family === "IPv4") return writeFileSync("/proc/sys/net/ipv4/ip_forward", "1")
  for (const name of readdirSync(INTERFACES)) {
    const setting = `${INTERFACES}/${name}/accept_ra`
    if (name !== "all" && name !== "default" && readFileSync(setting, "utf8").trim() === "1")
      writeFileSync(setting, "2")
  }
  writeFileSync(`${INTERFACES}/all/forwarding`, "1")
}

const jumpTo = (chain: string) => ["-m", "comment", "--comment", "k3ts pods", "-j", chain]

async function ensureJump(family: Family, table: string, parent: string, chain: string): Promise<void> {
  const change = (verb: "-C" | "-A") => run(IPTABLES[family], ["-w", "-t", table, verb, parent, ...jumpTo(chain)])
  await change("-C").catch(() => change("-A"))
}

/** Empties the chains that are named in `lines`, and keeps all others: `--noflush`. */
async function restore(family: Family, lines: readonly string[]): Promise<void> {
  await run(`${IPTABLES[family]}-restore`, ["-w", "--noflush"], { input: lines.join("\n") + "\n" })
}
