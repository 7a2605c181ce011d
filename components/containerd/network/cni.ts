import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { ContainerdPaths } from "../paths.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"
import { hasPlugins, PLUGIN } from "./plugin/install-plugins.ts"

export interface PodNetwork {
  /**
   * The ranges of pod addresses of this node, such as `10.42.0.0/24`, one for each address family; the first address of
   * each is the bridge's own.
   */
  readonly podCidrs: readonly string[]
  /** The MTU of the pods' interfaces in bytes: at most that of the host's uplink. */
  readonly mtu: number
  /** The largest packet to other nodes in bytes, if it is smaller than `mtu`. */
  readonly routeMtu?: number | undefined
  /** At most 15 characters. */
  readonly bridge?: string
}

export const CONFIG_NAME = "10-k3ts.conflist"
/** The name of the network, and of the folder in which host-local and our plugin keep addresses. */
export const NETWORK = "k3ts"
/** The name of the bridge of a node's pods. */
export const BRIDGE = "cni0"

/**
 * Returns the CNI configuration: one bridge, an address from each of the node's ranges for each pod, and host ports.
 * `cniVersion` 1.0.0 is the first of plugins 1.0 and of libcni in containerd 1.6. `plugin` is ours, or the host's plugin
 * `bridge` where ours does not run.
 * No plugin masquerades, although `bridge` can: it would add rules for each pod, which takes a large part of a pod's
 * start time. One rule for all pods does the same, see egress.ts.
 */
export function cniConfig(
  { podCidrs, mtu, routeMtu, bridge = BRIDGE }: PodNetwork,
  addresses: string,
  plugin: "k3ts" | "bridge",
): string {
  const ipam = { ranges: podCidrs.map((subnet) => [{ subnet }]), dataDir: addresses }
  const routes = podCidrs.map((subnet) => ({ dst: familyOf(subnet) === "IPv6" ? "::/0" : "0.0.0.0/0" }))
  const plugins =
    plugin === "k3ts"
      ? [{ type: PLUGIN, capabilities: { portMappings: true, bandwidth: true }, bridge, mtu, routeMtu, ipam }]
      : [
          {
            type: "bridge",
            bridge,
            isGateway: true,
            // Lets a pod reach itself through its Service: the packet leaves by the port on which it arrived. It also
            // keeps the plugin from waiting a second for other pods with the same IPv6 address.
            hairpinMode: true,
            ipMasq: false,
            mtu: routeMtu ?? mtu,
            ipam: { type: "host-local", ...ipam, routes },
          },
          // `snat` lets a pod reach its own host port, and makes 127.0.0.1:hostPort work on the node.
          { type: "portmap", capabilities: { portMappings: true }, snat: true },
        ]
  return JSON.stringify({ cniVersion: "1.0.0", name: NETWORK, plugins }, undefined, 2) + "\n"
}

/** Writes the configuration if it differs. containerd watches the folder and applies it at once. */
export function writeCniConfig(paths: ContainerdPaths, network: PodNetwork): void {
  const path = join(paths.cniConfig, CONFIG_NAME)
  const text = cniConfig(network, paths.cniAddresses, hasPlugins(paths) ? "k3ts" : "bridge")
  if (readIfThere(path) === text) return
  // By rename, so that containerd never reads a half-written file; it ignores files with the temporary suffix.
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

/** Returns the smallest MTU of the devices with a default route; Ethernet's without one. */
export function uplinkMtu(): number {
  const mtus = defaultDevices(readIfThere("/proc/net/route") ?? "", readIfThere("/proc/net/ipv6_route") ?? "")
    .map((device) => Number(readIfThere(`/sys/class/net/${device}/mtu`)))
    .filter((mtu) => mtu > 0)
  return mtus.length > 0 ? smallest(mtus) : ETHERNET_MTU
}

/**
 * Returns the devices of default routes. The arguments are the kernel's tables for IPv4, `<device> <destination>
 * <gateway> …`, and for IPv6, `<destination> <prefix length> … <flags> <device>`, with all numbers in hexadecimal.
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
