import type { Chains, Ruleset } from "./rules.ts"

/**
 * Returns the input of `iptables-restore --noflush` that turns one ruleset into another and only touches chains that
 * differ; undefined when none does. Chains that are named are emptied and filled again in one transaction per table;
 * others are left alone.
 */
export function transition(before: Ruleset | undefined, after: Ruleset): string | undefined {
  const tables = (["filter", "nat"] as const)
    .map((table) => tableText(table, before?.[table] ?? new Map(), after[table]))
    .filter((text) => text !== undefined)
  return tables.length === 0 ? undefined : tables.join("")
}

function tableText(table: string, before: Chains, after: Chains): string | undefined {
  const changed = [...after].filter(([chain, rules]) => !same(before.get(chain), rules))
  const gone = [...before.keys()].filter((chain) => !after.has(chain))
  if (changed.length === 0 && gone.length === 0) return undefined
  return [
    `*${table}`,
    ...changed.map(([chain]) => `:${chain} - [0:0]`),
    ...gone.map((chain) => `:${chain} - [0:0]`),
    ...changed.flatMap(([chain, rules]) => rules.map((rule) => `-A ${chain} ${rule}`)),
    ...gone.map((chain) => `-X ${chain}`),
    "COMMIT",
    "",
  ].join("\n")
}

/** Counts the rules of each table in the input of `iptables-restore`. */
export function writtenRules(text: string): Readonly<Record<"nat" | "filter", number>> {
  const counts = { nat: 0, filter: 0 }
  let table: keyof typeof counts = "nat"
  for (const line of text.split("\n")) {
    if (line.startsWith("*")) table = line === "*nat" ? "nat" : "filter"
    else if (line.startsWith("-A ")) counts[table]++
  }
  return counts
}

const same = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  a !== undefined && a.length === b.length && a.every((rule, i) => rule === b[i])

/**
 * The jumps from the kernel's own chains: table, chain, rule. The rules in table filter apply to new connections only.
 */
export const JUMPS: readonly (readonly [table: "nat" | "filter", chain: string, rule: string])[] = [
  ["nat", "PREROUTING", '-m comment --comment "kubernetes service portals" -j KUBE-SERVICES'],
  ["nat", "OUTPUT", '-m comment --comment "kubernetes service portals" -j KUBE-SERVICES'],
  ["nat", "POSTROUTING", '-m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING'],
  [
    "filter",
    "INPUT",
    '-m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j ' +
      "KUBE-EXTERNAL-SERVICES",
  ],
  [
    "filter",
    "INPUT",
    '-m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL',
  ],
  ["filter", "INPUT", '-m comment --comment "kubernetes health check service ports" -j KUBE-NODEPORTS'],
  ["filter", "INPUT", "-j KUBE-FIREWALL"],
  [
    "filter",
    "FORWARD",
    '-m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j ' +
      "KUBE-EXTERNAL-SERVICES",
  ],
  [
    "filter",
    "FORWARD",
    '-m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL',
  ],
  [
    "filter",
    "FORWARD",
    '-m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
  ],
  ["filter", "FORWARD", '-m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD'],
  ["filter", "OUTPUT", '-m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES'],
  [
    "filter",
    "OUTPUT",
    '-m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL',
  ],
  ["filter", "OUTPUT", "-j KUBE-FIREWALL"],
]

/** Matches the names of kube-proxy's chains, which `killall` removes. */
export const OUR_CHAIN =
  /^KUBE-(SERVICES|CLUSTER-IPS|EXTERNAL-SERVICES|NODEPORTS|PROXY-FIREWALL|FORWARD|FIREWALL|POSTROUTING|MARK-MASQ|SVC-|SVL-|EXT-|FW-|SEP-)/
