import { run } from "../../../pkg/process/run.ts"

/**
 * Removes what the CNI plugin portmap left for the given sandboxes: for each a chain `CNI-DN-…` in table nat, and a
 * jump to it from CNI-HOSTPORT-DNAT whose comment names network and sandbox. Its shared chains are removed when no
 * sandbox uses them any more. Source: containernetworking/plugins plugins/meta/portmap/portmap_iptables.go.
 */
export async function removeHostPorts(sandboxIds: ReadonlySet<string>): Promise<void> {
  for (const family of ["iptables", "ip6tables"]) {
    const rules = await run(`${family}-save`, ["-t", "nat"]).catch(() => "") // the tables do not exist
    const lines = removalOf(rules, sandboxIds)
    if (lines.length > 0)
      await run(`${family}-restore`, ["-w", "--noflush"], { input: ["*nat", ...lines, "COMMIT", ""].join("\n") })
  }
}

const SHARED_CHAINS = ["CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-MASQ", "CNI-HOSTPORT-SETMARK"]

/**
 * Returns the input of iptables-restore that removes the sandboxes' rules and chains, from the output of iptables-save.
 */
export function removalOf(rules: string, sandboxIds: ReadonlySet<string>): string[] {
  const lines = rules.split("\n").filter((line) => line.startsWith("-A "))
  const uses = lines.filter((line) => line.startsWith("-A CNI-HOSTPORT-DNAT "))
  const ours = uses.filter((line) => sandboxIds.has(/ id: \\"([^\\"]+)\\"/.exec(line)?.[1] ?? ""))
  const shared = ours.length < uses.length ? [] : SHARED_CHAINS.filter((chain) => rules.includes(`:${chain} `))
  const chains = [...new Set([...ours.flatMap((line) => targetOf(line) ?? []), ...shared])]
  const leadingIn = lines.filter(
    (line) => chains.includes(targetOf(line) ?? "") && !chains.includes(line.split(" ")[1]!),
  )
  // iptables removes only chains that are empty and to which no rule jumps.
  return [
    ...leadingIn.map((line) => line.replace(/^-A/, "-D")),
    ...chains.map((chain) => `-F ${chain}`),
    ...chains.map((chain) => `-X ${chain}`),
  ]
}

const targetOf = (line: string): string | undefined => / -j (\S+)/.exec(line)?.[1]
