import { join } from "node:path"

/** The paths of our containerd, none of which it shares with a containerd of the host. */
export interface ContainerdPaths {
  readonly config: string
  /**
   * A folder for each registry with its hosts.toml (mirrors, plain HTTP, certificates), which users write. Source:
   * containerd docs/hosts.md.
   */
  readonly registries: string
  readonly cniConfig: string
  /** The CNI plugins that containerd starts. */
  readonly cniBin: string
  /** Where our CNI plugins reach k3ts. */
  readonly cniSocket: string
  /** Images and snapshots, which survive a reboot. */
  readonly root: string
  readonly log: string
  /** Archives that are imported at start. */
  readonly images: string
  /** The state of running containers, which disappears at a reboot as they do. */
  readonly state: string
  readonly socket: string
  /** The allocated pod addresses. In the run folder, so that they disappear at a reboot together with the pods. */
  readonly cniAddresses: string
  /** The private key by which other nodes know this one, with `--flannel-backend wireguard-native`. */
  readonly wireguardKey: string
}

/** @param dataDir /var/lib/k3ts by default
 *  @param runDir short: the path of a unix socket has at most 107 bytes */
export function containerdPaths(dataDir: string, runDir = "/run/k3ts"): ContainerdPaths {
  const agent = join(dataDir, "agent")
  return {
    config: join(agent, "etc/containerd/config.toml"),
    registries: join(agent, "etc/containerd/certs.d"),
    cniConfig: join(agent, "etc/cni/net.d"),
    cniBin: join(agent, "cni/bin"),
    cniSocket: join(runDir, "cni/plugin.sock"),
    root: join(agent, "containerd"),
    log: join(agent, "containerd/containerd.log"),
    images: join(agent, "images"),
    state: join(runDir, "containerd"),
    socket: join(runDir, "containerd/containerd.sock"),
    cniAddresses: join(runDir, "cni/networks"),
    wireguardKey: join(agent, "wireguard.key"),
  }
}
