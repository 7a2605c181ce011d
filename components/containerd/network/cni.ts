import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { familyOf } from "../../../pkg/apimachinery/cidr.ts"
import type { ContainerdPaths } from "../paths.ts"

export interface PodNetwork {
  /**
   * This node's addresses for pods, `10.42.0.0/24`, one range of each family of the cluster; the first address of each
   * is the node's own on the bridge.
   */
  readonly podCidrs: readonly string[]
  /** Bytes a packet may have: not more than the way out of the host takes. */
  readonly mtu: number
  /** At most 15 characters. */
  readonly bridge?: string
}

export const CONFIG_NAME = "10-k3ts.conflist"
/** The bridge of the pods of a node. */
export const BRIDGE = "cni0"

/**
 * The pod network: one bridge on the node, an address from each of the node's ranges for each pod, host ports.
 * `cniVersion` 1.0.0 is what the plugins 1.0 and libcni in containerd 1.6 began with.
 *
 * The bridge does not masquerade, though it could: it would add rules for each pod, a good part of the time a pod takes
 * to start. One rule for all pods does the same, see egress.ts.
 */
export function cniConfig({ podCidrs, mtu, bridge = BRIDGE }: PodNetwork, addresses: string): string {
  const config = {
    cniVersion: "1.0.0",
    name: "k3ts",
    plugins: [
      {
        type: "bridge",
        bridge,
        isGateway: true,
        // A pod reaches itself through its Service: the packet goes back out of the port it came in by. It also keeps
        // the plugin from waiting a second for another pod that has the same IPv6 address.
        hairpinMode: true,
        ipMasq: false,
        mtu,
        ipam: {
          type: "host-local",
          ranges: podCidrs.map((subnet) => [{ subnet }]),
          routes: podCidrs.map((subnet) => ({ dst: familyOf(subnet) === "IPv6" ? "::/0" : "0.0.0.0/0" })),
          dataDir: addresses,
        },
      },
      // `snat` lets a pod reach its own host port, and 127.0.0.1:hostPort work on the node.
      { type: "portmap", capabilities: { portMappings: true }, snat: true },
    ],
  }
  return JSON.stringify(config, undefined, 2) + "\n"
}

/** Writes the network's configuration if it differs. containerd watches the folder and takes it up at once. */
export function writeCniConfig(paths: ContainerdPaths, network: PodNetwork): void {
  const path = join(paths.cniConfig, CONFIG_NAME)
  const text = cniConfig(network, paths.cniAddresses)
  if (readIfThere(path) === text) return
  // By rename, lest containerd reads half of it. The other ending keeps it from reading the new file.
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}

/** The least MTU of the devices with a default route, or Ethernet's. */
export function uplinkMtu(): number {
  const mtus = defaultDevices(readIfThere("/proc/net/route") ?? "", readIfThere("/proc/net/ipv6_route") ?? "")
    .map((device) => Number(readIfThere(`/sys/class/net/${device}/mtu`)))
    .filter((mtu) => mtu > 0)
  return mtus.length > 0 ? Math.min(...mtus) : ETHERNET_MTU
}

/**
 * The devices that default routes lead out of. The arguments are the kernel's tables of IPv4, `<device> <destination>
 * <gateway> …`, and of IPv6, `<destination> <prefix length> … <flags> <device>`, all numbers in hexadecimal.
 */
export function defaultDevices(ipv4: string, ipv6: string): readonly string[] {
  const rows = (text: string) => text.split("\n").map((line) => line.trim().split(/\s+/))
  const of4 = rows(ipv4).flatMap(([device = "", destination]) => (destination === "00000000" ? [device] : []))
  const of6 = rows(ipv6).flatMap((row) => {
    const isReject = (Number.parseInt(row.at(-2) ?? "", 16) & RTF_REJECT) !== 0
    return row[0] === "0".repeat(32) && row[1] === "00" && !isReject ? [row.at(-1)!] : []
  })
  return [...new Set([...of4, ...of6])]
}
/** Source: linux/route.h. */
const RTF_REJECT = 0x200
const ETHERNET_MTU = 1500
