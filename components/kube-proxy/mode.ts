import { FAMILIES, type Family } from "../../pkg/apimachinery/cidr.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { Host } from "../../pkg/netfilter/host.ts"
import { FAMILY_WORD, findNft, removeTable } from "../../pkg/netfilter/nft.ts"
import { cleanUp as cleanUpIptables } from "./iptables/iptables.ts"
import { TABLE } from "./nftables/names.ts"
import { PROXY_MODES, type ProxyMode } from "./rule-writer.ts"

/**
 * The mode that is asked for, or else nftables where `nft` and the kernel allow it for all families, and iptables where not.
 *
 * @throws Error where nftables is asked for and cannot be
 */
export async function chooseMode(
  asked: ProxyMode | undefined,
  families: readonly Family[],
  host: Host,
  log: Logger,
): Promise<ProxyMode> {
  if (asked === "iptables") return asked
  const found = await findNft(host, families)
  if (found.usable) {
    log.info("Services are served by nftables", { nft: found.version })
    return "nftables"
  }
  const { reason, mend } = found
  if (asked === "nftables") throw new Error(`Cannot serve Services by nftables: ${reason}; ${mend}`)
  log.info("Services are served by iptables, since nftables cannot be used", { reason, mend })
  return "iptables"
}

/** Removes all rules that the proxy wrote in a mode for a family, and nothing else; nothing where there are none. */
export const cleanUpMode = (mode: ProxyMode, family: Family, host: Host): Promise<void> =>
  mode === "iptables" ? cleanUpIptables(host, family) : removeTable(host, FAMILY_WORD[family], TABLE)

/** Removes all rules of the proxy, whatever wrote them. */
export async function cleanUp(host: Host): Promise<void> {
  for (const mode of PROXY_MODES) for (const family of FAMILIES) await cleanUpMode(mode, family, host)
}
