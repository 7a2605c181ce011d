import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Host } from "../../../pkg/netfilter/host.ts"
import { JUMPS, OUR_CHAIN } from "./restore.ts"

/** Waits up to this many seconds for the lock that other users of iptables may hold. */
const WAIT = ["-w", "5"]

/** Returns the name of a family's program, such as `ip6tables-save`. */
const program = (family: Family, verb: "" | "-save" | "-restore"): string =>
  `${family === "IPv6" ? "ip6tables" : "iptables"}${verb}`

export const restore = (host: Host, family: Family, text: string): Promise<void> =>
  host.feed(program(family, "-restore"), [...WAIT, "--noflush"], text)

/** Whether the kernel would take the input of `iptables-restore`, which changes nothing. */
export const accepts = (host: Host, family: Family, text: string): Promise<boolean> =>
  host.feed(program(family, "-restore"), [...WAIT, "--noflush", "--test"], text).then(
    () => true,
    () => false,
  )

/** Inserts missing jumps before all other rules, so that no earlier ACCEPT bypasses them. */
export async function ensureJumps(host: Host, family: Family): Promise<void> {
  const present = {
    nat: await host.run(program(family, "-save"), ["-t", "nat"]),
    filter: await host.run(program(family, "-save"), ["-t", "filter"]),
  }
  const missing = JUMPS.filter(
    ([table, chain, rule]) =>
      !present[table]
        .split("\n")
        .some(
          (line) =>
            line.startsWith(`-A ${chain} `) &&
            line.endsWith(rule.slice(rule.lastIndexOf("-j "))) &&
            normalized(line) === normalized(`-A ${chain} ${rule}`),
        ),
  )
  for (const table of ["filter", "nat"] as const) {
    const rules = missing.filter(([of]) => of === table).reverse() // inserted at the top: the last one first
    if (rules.length > 0)
      await restore(
        host,
        family,
        [`*${table}`, ...rules.map(([, chain, rule]) => `-I ${chain} 1 ${rule}`), "COMMIT", ""].join("\n"),
      )
  }
}

/** Normalizes a rule for comparison, since iptables-save may print its matches in another order. */
const normalized = (line: string): string =>
  line
    .replaceAll('"', "")
    .split(/ (?=-)/)
    .sort()
    .join(" ")

/** Whether the jumps and chains still exist; another program may have flushed the tables. */
export async function intact(host: Host, family: Family): Promise<boolean> {
  try {
    const rulesOf = (chain: string) => host.run(program(family, ""), [...WAIT, "-t", "nat", "-S", chain])
    return (
      (await rulesOf("PREROUTING")).includes("-j KUBE-SERVICES") &&
      (await rulesOf("KUBE-POSTROUTING")).includes("MASQUERADE")
    )
  } catch {
    return false
  }
}

/**
 * Removes every kube-proxy chain in the tables of a family, and every rule that jumps to one; other rules stay. Without
 * iptables there is nothing to remove.
 */
export async function cleanUp(host: Host, family: Family): Promise<void> {
  for (const table of ["filter", "nat"]) {
    const saved = await host.run(program(family, "-save"), ["-t", table]).catch(() => "")
    const chains = [...saved.matchAll(/^:(\S+) /gm)].map(([, chain]) => chain!).filter((chain) => OUR_CHAIN.test(chain))
    if (chains.length === 0) continue
    const jumps = saved.split("\n").filter((line) => {
      const [, chain = ""] = line.split(" ")
      const target = / -j (\S+)/.exec(line)?.[1] ?? ""
      return line.startsWith("-A ") && !OUR_CHAIN.test(chain) && OUR_CHAIN.test(target)
    })
    await restore(
      host,
      family,
      [
        `*${table}`,
        ...jumps.map((line) => line.replace(/^-A/, "-D")),
        ...chains.map((chain) => `:${chain} - [0:0]`),
        ...chains.map((chain) => `-X ${chain}`),
        "COMMIT",
        "",
      ].join("\n"),
    )
  }
}
