import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { ContainerdPaths } from "../paths.ts"

export interface PodNetwork {
  /** This node's addresses for pods, `10.42.0.0/24`; the first is the node's own on the bridge. */
  readonly podCidr: string
  /** Bytes a packet may have: not more than the way out of the host takes. */
  readonly mtu: number
  /** At most 15 characters. */
  readonly bridge?: string
}

export const CONFIG_NAME = "10-k3ts.conflist"
/** The bridge of the pods of a node. */
export const BRIDGE = "cni0"

/**
 * The pod network: one bridge on the node, an address from the node's range for each pod, host ports.
 * `cniVersion` 1.0.0 is what the plugins 1.0 and libcni in containerd 1.6 began with.
 *
 * The bridge does not masquerade, though it could: it would add rules for each pod, a good part of the time a pod takes
 * to start. One rule for all pods does the same, see egress.ts.
 */
export function cniConfig({ podCidr, mtu, bridge = BRIDGE }: PodNetwork, addresses: string): string {
  const config = {
    cniVersion: "1.0.0",
    name: "k3ts",
    plugins: [
      {
        type: "bridge",
        bridge,
        isGateway: true,
        // A pod reaches itself through its Service: the packet goes back out of the port it came in by.
        hairpinMode: true,
        ipMasq: false,
        mtu,
        ipam: {
          type: "host-local",
          ranges: [[{ subnet: podCidr }]],
          routes: [{ dst: "0.0.0.0/0" }],
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

/** The MTU of the device with the default route, or Ethernet's. */
export function uplinkMtu(): number {
  // Columns: Iface Destination Gateway …; the default route has destination 0.
  const routes =
    readIfThere("/proc/net/route")
      ?.split("\n")
      .map((line) => line.split(/\s+/)) ?? []
  const device = routes.find(([, destination]) => destination === "00000000")?.[0]
  const mtu = device === undefined ? NaN : Number(readIfThere(`/sys/class/net/${device}/mtu`))
  return mtu > 0 ? mtu : 1500
}
