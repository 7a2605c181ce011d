import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { bitsOf, familyOf } from "../../pkg/apimachinery/addresses/cidr.ts"

/** The interface that carries the DNS address; `k3ts killall` removes it. */
export const DNS_INTERFACE = "k3ts-dns"

const run = promisify(execFile)

/**
 * Puts the DNS addresses on an interface of their own, so that the server listens on them alone and not on other
 * addresses of the host. Safe to repeat. Needs root and `ip` (iproute2).
 */
export async function holdAddresses(addresses: readonly string[]): Promise<void> {
  const there = await run("ip", ["-o", "addr", "show", "dev", DNS_INTERFACE]).then(
    ({ stdout }) => stdout,
    () => undefined,
  )
  if (there === undefined) await addInterface()
  for (const other of there?.matchAll(/ inet6? ([0-9a-f.:]+)\/\d+ /g) ?? []) {
    if (!addresses.includes(other[1]!) && !other[1]!.startsWith("fe80"))
      await ip("addr", "del", other[1]!, "dev", DNS_INTERFACE)
  }
  for (const address of addresses) {
    if (there?.includes(` ${address}/`) === true) continue
    // Without nodad a new IPv6 address is tentative for about a second, and binding a socket to it fails.
    const nodad = address.includes(":") ? ["nodad"] : []
    await ip("addr", "add", `${address}/${bitsOf(familyOf(address))}`, "dev", DNS_INTERFACE, ...nodad)
  }
  await ip("link", "set", DNS_INTERFACE, "up")
}

/**
 * Adds a dummy interface, or a bridge without ports when the kernel has no dummy module; bridges are needed for pods
 * anyway.
 */
async function addInterface(): Promise<void> {
  try {
    await ip("link", "add", DNS_INTERFACE, "type", "dummy")
  } catch {
    await ip("link", "add", DNS_INTERFACE, "type", "bridge")
  }
}

async function ip(...args: string[]): Promise<void> {
  try {
    await run("ip", args)
  } catch (err) {
    throw new Error(
      `Cannot set up the DNS address: \`ip ${args.join(" ")}\` failed: ` +
        `${(err as Error).message.split("\n").slice(1).join(" ").trim() || (err as Error).message}`,
      { cause: err },
    )
  }
}
