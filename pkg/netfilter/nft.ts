import { release } from "node:os"
import type { Family } from "../apimachinery/addresses/cidr.ts"
import type { Host } from "./host.ts"

/** Whether rules can be written by `nft` here: its version, or why not and what would mend it. */
export type NftSupport =
  | { readonly usable: true; readonly version: string }
  | { readonly usable: false; readonly reason: string; readonly mend: string }

/** What `nft` calls a family: of tables, and before the names of its header's fields. */
export const FAMILY_WORD: Readonly<Record<Family, "ip" | "ip6">> = { IPv4: "ip", IPv6: "ip6" }
/** The type of addresses in sets and maps. */
export const ADDRESS_TYPE: Readonly<Record<Family, string>> = { IPv4: "ipv4_addr", IPv6: "ipv6_addr" }

/** Source: KEP-3866 and pkg/proxy/nftables (knftables) for both numbers. */
const OLDEST_NFT = [1, 0, 1] as const
const OLDEST_KERNEL = [5, 13] as const

/**
 * What the tables of k3ts are made of: maps with several keys and of verdicts, sets that packets fill, numbers by
 * chance within a key.
 */
function trialOf(family: Family): string {
  const [ip, type] = [FAMILY_WORD[family], ADDRESS_TYPE[family]]
  const [asked, endpoint] = family === "IPv4" ? ["192.0.2.1", "192.0.2.2"] : ["2001:db8::1", "2001:db8::2"]
  return `add table ${ip} k3ts-trial
add chain ${ip} k3ts-trial hooked { type nat hook prerouting priority -100 ; }
add chain ${ip} k3ts-trial endpoint
add map ${ip} k3ts-trial services { type ${type} . inet_proto . inet_service : verdict ; }
add set ${ip} k3ts-trial clients { type ${type} ; flags dynamic, timeout ; timeout 10s ; }
add rule ${ip} k3ts-trial endpoint update @clients { ${ip} saddr }
add map ${ip} k3ts-trial endpoints { typeof ${ip} daddr . tcp dport . numgen random mod 2 : ${ip} daddr . tcp dport ; }
add element ${ip} k3ts-trial endpoints { ${asked} . 80 . 1 : ${endpoint} . 80 }
add rule ${ip} k3ts-trial endpoint meta l4proto tcp dnat ${ip} to ${ip} daddr . tcp dport . numgen random mod 2 map @endpoints
add rule ${ip} k3ts-trial hooked fib daddr type local ${ip} daddr . meta l4proto . th dport vmap @services
add rule ${ip} k3ts-trial hooked numgen random mod 2 vmap { 0 : goto endpoint, 1 : goto endpoint }
`
}

/**
 * Finds out whether `nft` and the kernel are recent enough and take a trial for each family, which is checked and never
 * applied.
 */
export async function findNft(
  host: Host,
  families: readonly Family[] = ["IPv4"],
  kernel: string = release(),
): Promise<NftSupport> {
  const version = await host.run("nft", ["--version"]).catch(() => undefined)
  const judged = judgeNft(version, kernel)
  if (!judged.usable) return judged
  try {
    await host.feed("nft", ["--check", "-f", "-"], families.map(trialOf).join(""))
    return judged
  } catch (err) {
    const reason = `the kernel refuses a trial: ${err instanceof Error ? err.message.split("\n")[0] : String(err)}`
    return {
      usable: false,
      reason,
      mend: "load the kernel's modules nf_tables and nft_chain_nat, or boot one with them",
    }
  }
}

/**
 * `version` is what `nft --version` prints (`nftables v1.0.6 (Lester Gooch #5)`), undefined where there is none;
 * `kernel` is the kernel's release (`6.1.0-18-amd64`).
 */
export function judgeNft(version: string | undefined, kernel: string): NftSupport {
  if (version === undefined)
    return { usable: false, reason: "nft is not on the PATH", mend: "apt-get install nftables" }
  const number = /v(\d+(?:\.\d+)*)/.exec(version)?.[1] ?? "0"
  if (!isAtLeast(number, OLDEST_NFT))
    return {
      usable: false,
      reason: `nft ${number} is older than ${OLDEST_NFT.join(".")}`,
      mend: `install nftables ${OLDEST_NFT.join(".")} or later`,
    }
  if (!isAtLeast(kernel, OLDEST_KERNEL))
    return {
      usable: false,
      reason: `kernel ${kernel} is older than ${OLDEST_KERNEL.join(".")}`,
      mend: `boot a kernel of ${OLDEST_KERNEL.join(".")} or later`,
    }
  return { usable: true, version: number }
}

function isAtLeast(version: string, oldest: readonly number[]): boolean {
  const parts = version.split(/[.-]/).map((part) => Number.parseInt(part, 10) || 0)
  const differing = oldest.findIndex((part, i) => (parts[i] ?? 0) !== part)
  return differing === -1 || (parts[differing] ?? 0) > oldest[differing]!
}

/**
 * Runs one transaction of commands as `nft -f` takes them: all of it holds afterwards, or nothing.
 *
 * @throws Error with what `nft` says of the lines that it does not take
 */
export const transact = (host: Host, commands: string): Promise<void> => host.feed("nft", ["-f", "-"], commands)

/**
 * The names of all tables of a family (`ip`, `ip6`, `inet`); none where there is no `nft`, or no nf_tables in the
 * kernel.
 *
 * @throws Error where `nft` fails in another way: whether there are tables is not known then
 */
export async function tableNames(host: Host, family: string): Promise<readonly string[]> {
  const text = await host.run("nft", ["list", "tables", family]).catch((err: unknown) => {
    if (NO_TABLES.test(String(err))) return ""
    throw err
  })
  return [...text.matchAll(/^table \S+ (\S+)$/gm)].map(([, name]) => name!)
}

/** What is said where the program is not there (by Bun, and by `ip netns exec`), and where the kernel has no tables. */
const NO_TABLES = /Executable not found|ENOENT|exec of "?nft"? failed|not supported/

/** Removes a table with all that is in it; nothing where it is not there. */
export async function removeTable(host: Host, family: string, name: string): Promise<void> {
  if ((await tableNames(host, family)).includes(name)) await transact(host, `delete table ${family} ${name}\n`)
}
