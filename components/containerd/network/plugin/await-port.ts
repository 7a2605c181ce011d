import { findInterface } from "../../../../pkg/netlink/find-link.ts"
import type { NetlinkFile } from "../../../../pkg/netlink/socket.ts"

/** The waits before each look at a port, in milliseconds. Source: CNI plugins/main/bridge/bridge.go (cmdAdd). */
const WAITS = [0, 50, 500, 1000, 1000]

/**
 * Waits until the bridge forwards what a new port receives; `wait` resolves after some milliseconds. The kernel notes
 * the carrier of an interface a little later than it is up, up to a second on a busy machine, and until then it drops
 * the first packets of the pod. Differs from upstream: a port that is not ready after all waits is no failure.
 */
export async function awaitPort(host: NetlinkFile, port: string, wait: (ms: number) => Promise<void>): Promise<void> {
  for (const ms of WAITS) {
    if (ms > 0) await wait(ms)
    if ((await findInterface(host, port))?.isRunning === true) return
  }
}
