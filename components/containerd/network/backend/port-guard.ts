import { FAMILIES, familyOf } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import type { Host } from "../../../../pkg/netfilter/host.ts"
import { ADDRESS_TYPE, FAMILY_WORD, findNft, removeTable, tableNames, transact } from "../../../../pkg/netfilter/nft.ts"
import { BRIDGE } from "../cni.ts"

const TABLE = "k3ts-between-nodes"
/** The priority of the chains: before the rules of Services and of other programs, which have priority 0. */
const PRIORITY = -20
/** Before the connection tracker, which has -200. */
const RAW_PRIORITY = -300

/**
 * Returns the input of `nft -f` that makes this machine accept packets for a UDP port from these addresses only, and
 * drops such packets from pods of this node. Without it, anyone who sends such packets could reach pods with the source
 * address of any pod, past network policies.
 *
 * Packets between nodes are not tracked as connections: no answer ever comes to such a packet, so each would count as
 * the first one of its connection, which all rules for new connections look at. Calico does the same.
 */
export function guardTable(port: number, addresses: readonly string[], bridge: string = BRIDGE): string {
  const table = `inet ${TABLE}`
  const chain = (name: string, hook: string, priority: number, rule: (word: "ip" | "ip6") => string) => [
    `add chain ${table} nodes-${name}`,
    ...FAMILIES.map((family) => `add rule ${table} nodes-${name} ${rule(FAMILY_WORD[family])}`),
    `add chain ${table} ${name} { type filter hook ${hook} priority ${priority} ; policy accept ; }`,
    // All packets of the machine pass this rule, so it is one and short.
    `add rule ${table} ${name} udp dport ${port} goto nodes-${name}`,
  ]
  const lines = [
    `add table ${table}`,
    `delete table ${table}`,
    `add table ${table}`,
    ...FAMILIES.flatMap((family) => {
      const [word, own] = [FAMILY_WORD[family], addresses.filter((address) => familyOf(address) === family)]
      return [
        `add set ${table} ${word}-nodes { type ${ADDRESS_TYPE[family]} ; }`,
        ...(own.length === 0 ? [] : [`add element ${table} ${word}-nodes { ${own.join(", ")} }`]),
      ]
    }),
    ...chain("raw-prerouting", "prerouting", RAW_PRIORITY, (word) => `${word} saddr @${word}-nodes notrack`),
    ...chain("raw-output", "output", RAW_PRIORITY, (word) => `${word} daddr @${word}-nodes notrack`),
    ...chain("input", "input", PRIORITY, (word) => `${word} saddr != @${word}-nodes counter drop`),
    ...chain("forward", "forward", PRIORITY, (word) => `iifname "${bridge}" ${word} daddr @${word}-nodes counter drop`),
  ]
  return lines.map((line) => `${line}\n`).join("")
}

/** Keeps that table in the kernel. If the machine has no nftables, one warning says what that means. */
export class PortGuard {
  readonly #host: Host
  readonly #log: Logger
  #written: string | undefined
  /** Whether this machine has nftables; undefined before that is known. */
  #hasNft: boolean | undefined

  constructor(host: Host, log: Logger) {
    this.#host = host
    this.#log = log
  }

  /**
   * Writes the table if it differs from the last one, or was removed. @throws Error when nftables exists but refuses
   * the table: packets must not be accepted then
   */
  async keep(port: number, addresses: readonly string[]): Promise<void> {
    this.#hasNft ??= await this.#findNft()
    if (!this.#hasNft) return
    const text = guardTable(port, [...new Set(addresses)].sort())
    if (text === this.#written && (await tableNames(this.#host, "inet")).includes(TABLE)) return
    await transact(this.#host, text)
    this.#written = text
  }

  async #findNft(): Promise<boolean> {
    const found = await findNft(this.#host)
    if (!found.usable)
      this.#log.warn("Packets between nodes are accepted from any sender: there is no nftables to refuse them", {
        reason: found.reason,
        mend: found.mend,
      })
    return found.usable
  }
}

export const removeGuard = (host: Host): Promise<void> => removeTable(host, "inet", TABLE)
