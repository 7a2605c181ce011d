import { execFile } from "node:child_process"
import { promisify } from "node:util"

/** The interface that carries the DNS address; `k3ts killall` removes it. */
export const DNS_INTERFACE = "k3ts-dns"

const run = promisify(execFile)

/**
 * Puts the DNS address on an interface of its own, so that the server can listen on exactly it and on nothing that
 * others reach. Safe to repeat. Needs root and `ip` (iproute2).
 */
export async function holdAddress(address: string): Promise<void> {
  const there = await run("ip", ["-o", "addr", "show", "dev", DNS_INTERFACE]).then(
    ({ stdout }) => stdout,
    () => undefined,
  )
  if (there === undefined) await addInterface()
  for (const other of there?.matchAll(/ inet6? ([0-9a-f.:]+)\/\d+ /g) ?? []) {
    if (other[1] !== address && !other[1]!.startsWith("fe80")) await ip("addr", "del", other[1]!, "dev", DNS_INTERFACE)
  }
  if (there?.includes(` ${address}/`) !== true)
    await ip("addr", "add", `${address}/${address.includes(":") ? 128 : 32}`, "dev", DNS_INTERFACE)
  await ip("link", "set", DNS_INTERFACE, "up")
}

/** A dummy, or where the kernel has none a bridge without ports: pods need bridges anyway. */
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
