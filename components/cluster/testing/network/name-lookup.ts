import type { DnsConfig } from "../../../../pkg/cri/sandbox.ts"
import type { Listers } from "../../../../pkg/client/informer.ts"
import { Records, type Answer } from "../../../dns/records.ts"
import { CLUSTER_DOMAIN } from "./network.ts"

/** The answers of a DNS server. */
export interface NameServer {
  /** What the cluster knows; undefined for a server that is not the cluster's. */
  readonly known: Listers | undefined
  /** Returns the addresses of a name outside of the cluster. */
  outside(name: string): Promise<readonly string[]>
}

/** resolv.conf's default. Source: resolv.conf(5). */
const NDOTS = 1

/**
 * Returns the addresses of a name as a program's resolver finds them: by its search list, and names with enough dots
 * first as they are. Empty for an unknown name. Source: resolv.conf(5), `search` and `ndots`.
 */
export async function addressesOfName(
  name: string,
  { searches = [], options = [] }: Pick<DnsConfig, "searches" | "options">,
  server: NameServer,
): Promise<readonly string[]> {
  for (const candidate of candidates(name.toLowerCase(), searches, options)) {
    const found = await ask(candidate, server)
    if (found.length > 0) return found
  }
  return []
}

function candidates(name: string, searches: readonly string[], options: readonly string[]): readonly string[] {
  if (name.endsWith(".")) return [name.slice(0, -1)]
  const given = options.map((option) => /^ndots:(\d+)$/.exec(option)?.[1]).find((value) => value !== undefined)
  const searched = searches.map((domain) => `${name}.${domain}`)
  return name.split(".").length - 1 >= Number(given ?? NDOTS) ? [name, ...searched] : [...searched, name]
}

async function ask(name: string, { known, outside }: NameServer): Promise<readonly string[]> {
  if (known === undefined) return outside(name)
  const records = new Records(known, CLUSTER_DOMAIN)
  if (!records.owns(name)) return outside(name)
  const found = records.find(name)
  const alias = (found ?? []).find(({ type }) => type === "CNAME")
  if (alias?.type !== "CNAME") return addressesIn(found)
  const target = alias.data.toLowerCase()
  return records.owns(target) ? addressesIn(records.find(target)) : outside(target)
}

const addressesIn = (found: Answer): readonly string[] =>
  (found ?? []).flatMap((record) => (record.type === "A" || record.type === "AAAA" ? [record.data] : []))
