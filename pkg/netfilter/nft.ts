import { release } from "node:os"
import type { Family } from "../apimachinery/addresses/cidr.ts"
import { errorMessage } from "../errors/error-message.ts"
import type { Host } from "./host.ts"

/** Whether `nft` can write the rules here: its version, or why not and how to mend that. */
export type NftSupport =
  | { readonly usable: true; readonly version: string }
  | { readonly usable: false; readonly reason: string; readonly mend: string }

/** The word of a family in nft's syntax: for tables, and before the fields of its header. */
export const FAMILY_WORD: Readonly<Record<Family, "ip" | "ip6">> = { IPv4: "ip", IPv6: "ip6" }
/** The type of a family's addresses in sets and maps. */
export const ADDRESS_TYPE: Readonly<Record<Family, string>> = { IPv4: "ipv4_addr", IPv6: "ipv6_addr" }

/** The oldest versions of nft and the kernel. Source of both: KEP-3866 and pkg/proxy/nftables (knftables). */
const OLDEST_NFT = [1, 0, 1] as const
const OLDEST_KERNEL = [5, 13] as const

/**
 * Returns a table with everything that the tables of k3ts use: maps with several keys, verdict maps, sets that packets
 * fill, and random numbers as part of a key.
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
 * Finds out whether `nft` and the kernel are recent enough, and whether they accept a trial table for each family. The
 * trial is only checked, and never applied.
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
    const reason = `the kernel refuses a trial: ${errorMessage(err).split("\n")[0]}`
    return {
      usable: false,
      reason,
      mend: "load the kernel's modules nf_tables and nft_chain_nat, or boot one with them",
    }
  }
}

/**
 * Decides by versions. `version` is the output of `nft --version` (`nftables v1.0.6 (Lester Gooch #5)`), undefined when
 * there is no nft; `kernel` is the kernel's release (`6.1.0-18-amd64`).
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
 * Runs commands of `nft -f` as one transaction: either all of them take effect, or none.
 *
 * @throws Error with nft's messages about the lines that it refuses
 */
export const transact = (host: Host, commands: string): Promise<void> => host.feed("nft", ["-f", "-"], commands)

/** Whether the kernel would take the commands of `nft -f`, which change nothing. */
export const accepts = (host: Host, commands: string): Promise<boolean> =>
  host.feed("nft", ["--check", "-f", "-"], commands).then(
    () => true,
    () => false,
  )

/**
 * Returns the names of all tables of a family (`ip`, `ip6`, `inet`); none when there is no `nft`, or no nf_tables in
 * the kernel.
 *
 * @throws Error when `nft` fails in another way, because it is then unknown whether there are tables
 */
export async function tableNames(host: Host, family: string): Promise<readonly string[]> {
  const text = await host.run("nft", ["list", "tables", family]).catch((err: unknown) => {
    if (NO_TABLES.test(String(err))) return ""
    throw err
  })
  return [...text.matchAll(/^table \S+ (\S+)$/gm)].map(([, name]) => name!)
}

/** Matches the errors for a missing program (of Bun, and of `ip netns exec`), and for a kernel without nf_tables. */
const NO_TABLES = /Executable not found|ENOENT|exec of "?nft"? failed|not supported/

/** Removes a table with everything in it. Does nothing when there is no such table. */
export async function removeTable(host: Host, family: string, name: string): Promise<void> {
  if ((await tableNames(host, family)).includes(name)) await transact(host, `delete table ${family} ${name}\n`)
}
