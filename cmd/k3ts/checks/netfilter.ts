import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { sourceGuardProblem } from "../../../components/containerd/network/sources/source-guard.ts"
import { unenforceable } from "../../../components/network-policy/support.ts"
import { hostIn } from "../../../pkg/netfilter/host.ts"
import { findNft, type NftSupport } from "../../../pkg/netfilter/nft.ts"
import { found, missing, warning, type Finding } from "./finding.ts"
import { onPath, run } from "./programs.ts"

/**
 * One rule for each match and target that Services need, as kube-proxy writes them; `LOOPBACK` stands for that address
 * of a family with a port.
 */
const RULES: readonly (readonly [what: string, table: "nat" | "filter", rule: string])[] = [
  ["match comment", "nat", "-m comment --comment x -j RETURN"],
  ["match conntrack", "filter", "-m conntrack --ctstate INVALID -j DROP"],
  ["match addrtype", "nat", "-m addrtype --dst-type LOCAL -j RETURN"],
  ["match mark", "nat", "-m mark --mark 0x4000/0x4000 -j RETURN"],
  ["match statistic", "nat", "-m statistic --mode random --probability 0.5 -j RETURN"],
  ["match recent", "nat", "-m recent --name x --rcheck --seconds 10 -j RETURN"],
  ["target MARK", "nat", "-j MARK --or-mark 0x4000"],
  ["target DNAT", "nat", "-p tcp -m tcp -j DNAT --to-destination LOOPBACK"],
  ["target MASQUERADE", "nat", "-j MASQUERADE --random-fully"],
  ["target REJECT", "filter", "-j REJECT"],
]
const DEVICES = ["bridge", "veth"] as const

const IPTABLES: Readonly<Record<Family, string>> = { IPv4: "iptables", IPv6: "ip6tables" }
const LOOPBACK: Readonly<Record<Family, string>> = { IPv4: "127.0.0.1:1", IPv6: "[::1]:1" }

/** Tries each rule in a network namespace that ends with the check, so that no rule of the host changes. */
export async function checkNetfilter(families: readonly Family[]): Promise<Finding[]> {
  if (onPath("iptables") === undefined || onPath("unshare") === undefined || process.getuid?.() !== 0) return []
  const mode = judgeMode(
    await run("iptables", ["--version"]).then(
      ({ stdout }) => stdout,
      () => "",
    ),
  )
  const tried = await Promise.all(families.flatMap((family) => RULES.map((rule) => tryRule(family, ...rule))))
  const devices = await Promise.all(
    DEVICES.map(async (type) => {
      const fault = await trial(`ip link add trial type ${type}`)
      return fault === undefined
        ? found(`${type} device`, "there")
        : missing(`${type} device`, fault, `modprobe ${type}, or start a kernel that has it`)
    }),
  )
  const policies = judgeNetworkPolicies(await unenforceable(hostIn()))
  const sources = judgeSourceGuard(await sourceGuardProblem(hostIn()))
  return [mode, judgeNftables(await findNft(hostIn(), families)), policies, sources, ...tried, ...devices]
}

async function tryRule(family: Family, what: string, table: string, rule: string): Promise<Finding> {
  const iptables = IPTABLES[family]
  // MASQUERADE is allowed in POSTROUTING only, and a user-defined chain may be called from anywhere.
  const chain = rule.includes("MASQUERADE") ? "POSTROUTING" : "TRIAL"
  const begin = `${iptables} -w -t ${table}`
  const fault = await trial(
    `${chain === "TRIAL" ? `${begin} -N TRIAL && ` : ""}${begin} -A ${chain} ${rule.replace("LOOPBACK", LOOPBACK[family])}`,
  )
  return fault === undefined
    ? found(`${iptables} ${what}`, "there")
    : missing(
        `${iptables} ${what}`,
        fault,
        "load the kernel's netfilter modules (modprobe -a nf_nat xt_comment xt_statistic xt_recent " +
          "xt_addrtype xt_conntrack xt_mark), or start a kernel that has them",
      )
}

/** Parses `iptables v1.8.9 (nf_tables)`; versions before 1.8 have no parentheses. */
export function judgeMode(version: string): Finding {
  const mode = /\((nf_tables|legacy)\)/.exec(version)?.[1] ?? "legacy"
  return version === ""
    ? missing("iptables mode", "iptables does not run", "apt-get install --reinstall iptables")
    : found("iptables mode", mode === "nf_tables" ? "nft" : "legacy")
}

export const judgeNftables = (support: NftSupport): Finding =>
  support.usable ? found("nftables", `nft ${support.version}`) : warning("nftables", support.reason, support.mend)

/** `why`: the reason why policies cannot be enforced here, `<reason>: <fix>`; undefined when they can. */
export function judgeNetworkPolicies(why: string | undefined): Finding {
  if (why === undefined) return found("network policies", "can be enforced")
  return warning(
    "network policies",
    "they would not be enforced on this machine; an Event of each NetworkPolicy says so",
    why,
  )
}

/** `why`: the reason why pods cannot be held to their addresses here; undefined when they can. */
export const judgeSourceGuard = (why: string | undefined): Finding =>
  why === undefined
    ? found("sources of pods", "pods can be restricted to their own addresses")
    : warning(
        "sources of pods",
        `a pod with CAP_NET_RAW could send from addresses of others: ${why}`,
        "install nftables 1.0.1 or later, and start a kernel that has nf_tables for bridges (nft_meta_bridge)",
      )

/** Returns the last line of an error, or undefined. */
async function trial(script: string): Promise<string | undefined> {
  try {
    await run("unshare", ["--net", "sh", "-c", script])
    return undefined
  } catch (err) {
    return (err as { stderr?: string }).stderr?.trim().split("\n").at(-1) || (err as Error).message
  }
}
