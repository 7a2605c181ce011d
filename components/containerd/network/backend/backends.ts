import { openNetlink } from "../../../../pkg/runtime/netlink.ts"
import { NETLINK_GENERIC } from "../../../../pkg/netlink/wireguard.ts"
import type { Backend } from "./backend.ts"
import type { BackendName } from "./backend-names.ts"
import { hostGateway } from "./host-gw.ts"
import { vxlan } from "./vxlan.ts"
import { keyIn, wireguard, WIREGUARD_DEVICE } from "./wireguard.ts"

export interface BackendOptions {
  /** The file of WireGuard's private key. */
  readonly keyFile: string
  /** The network namespace instead of the process's own. */
  readonly netns?: string
}

/** The code of a backend is loaded when the second node joins. */
export function backendOf(name: Exclude<BackendName, "none">, { keyFile, netns }: BackendOptions): Backend {
  if (name === "vxlan") return vxlan
  if (name === "host-gw") return hostGateway
  return wireguard({ key: keyIn(keyFile), open: () => openNetlink(NETLINK_GENERIC, netns) })
}

/** The interfaces of all backends. */
export const DEVICES: readonly string[] = [vxlan.device!, WIREGUARD_DEVICE]
