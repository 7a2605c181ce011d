import { findLink, linkIn, type Link } from "./links.ts"
import type { Reply } from "./message.ts"
import { KernelError, request, type NetlinkFile } from "./socket.ts"

/** Source: asm-generic/errno-base.h. */
const ENODEV = 19

/** Returns the kernel's reply about an interface; undefined when none has the name. */
export async function askForLink(socket: NetlinkFile, name: string): Promise<Reply | undefined> {
  try {
    return (await request(socket, [findLink(name)]))[0]
  } catch (err) {
    if (err instanceof KernelError && err.errno === ENODEV) return undefined
    throw err
  }
}

/** Returns an interface; undefined when none has the name. */
export async function findInterface(socket: NetlinkFile, name: string): Promise<Link | undefined> {
  const reply = await askForLink(socket, name)
  return reply === undefined ? undefined : linkIn(reply)
}
