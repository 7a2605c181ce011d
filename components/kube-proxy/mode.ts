import { FAMILIES, type Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { Host } from "../../pkg/netfilter/host.ts"
import { FAMILY_WORD, findNft, removeTable } from "../../pkg/netfilter/nft.ts"
import { cleanUp as cleanUpIptables } from "./iptables/iptables.ts"
import { TABLE } from "./nftables/names.ts"
import { PROXY_MODES, type ProxyMode } from "./rule-writer.ts"

/**
 * Returns the configured mode; without one nftables if `nft` and the kernel support it for all families, otherwise
 * iptables.
 * @throws Error when nftables is configured and not supported
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

/** Removes all rules that kube-proxy wrote in a mode for a family; nothing else. */
export const cleanUpMode = (mode: ProxyMode, family: Family, host: Host): Promise<void> =>
  mode === "iptables" ? cleanUpIptables(host, family) : removeTable(host, FAMILY_WORD[family], TABLE)

/** Removes all rules of kube-proxy in all modes and families. */
export async function cleanUp(host: Host): Promise<void> {
  for (const mode of PROXY_MODES) for (const family of FAMILIES) await cleanUpMode(mode, family, host)
}
