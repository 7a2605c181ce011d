import type { Host } from "../../../../pkg/netfilter/host.ts"
import { findInterface } from "../../../../pkg/netlink/find-link.ts"
import { deleteLink } from "../../../../pkg/netlink/links.ts"
import { request, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import { changesBetween, NO_WAYS, waysIn } from "./kernel-ways.ts"
import { removeGuard } from "./port-guard.ts"

/** Removes all routes to pods of other nodes, these interfaces, and the table of their permitted senders. */
export async function removeWays(socket: NetlinkFile, host: Host, devices: readonly string[]): Promise<void> {
  for (const { message } of changesBetween(await waysIn(socket, undefined), NO_WAYS)) await request(socket, [message])
  await removeDevices(socket, devices)
  await removeGuard(host)
}

/** Removes these interfaces, if they exist. */
export async function removeDevices(socket: NetlinkFile, devices: readonly string[]): Promise<void> {
  for (const device of devices)
    if ((await findInterface(socket, device)) !== undefined) await request(socket, [deleteLink(device)])
}
