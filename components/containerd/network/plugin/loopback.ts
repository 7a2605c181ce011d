import { NETLINK_ROUTE, setUp } from "../../../../pkg/netlink/links.ts"
import { request } from "../../../../pkg/netlink/socket.ts"
import type { CniCall, CniResult } from "./cni.ts"
import type { PluginProcess } from "./plugin-process.ts"

/** The first interface of every network namespace. Source: LOOPBACK_IFINDEX in Linux. */
const LOOPBACK = 1

/**
 * Brings up `lo`, as the plugin `loopback` does. `lo` disappears with its network namespace, so nothing has to be
 * undone.
 */
export async function addLoopback(process: PluginProcess, call: CniCall): Promise<CniResult> {
  const { socket } = await process.enter(call.namespace, NETLINK_ROUTE)
  await request(socket, [setUp(LOOPBACK)])
  return {
    interfaces: [{ name: call.interface, mac: "00:00:00:00:00:00", sandbox: call.namespace }],
    ips: ["127.0.0.1/8", "::1/128"].map((address) => ({ address, interface: 0 })),
  }
}
