import type { Network } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { NETLINK_ROUTE } from "../../../../pkg/netlink/links.ts"
import { openNetlink } from "../../../../pkg/runtime/netlink.ts"
import { keepBridge } from "./bridges.ts"

/** Repairs a bridge of this process's network namespace: see `keepBridge`. */
export async function repairBridge(bridge: string, ranges: readonly Network[]): Promise<void> {
  const socket = openNetlink(NETLINK_ROUTE)
  try {
    await keepBridge(socket, bridge, ranges)
  } finally {
    socket.close()
  }
}
