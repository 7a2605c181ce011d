import { join } from "node:path"

/** Where everything of our containerd lies. Nothing of it is shared with a containerd of the host. */
export interface ContainerdPaths {
  readonly config: string
  /**
   * A folder per registry with its hosts.toml (mirrors, plain HTTP, certificates). Users write there. Source:
   * containerd docs/hosts.md.
   */
  readonly registries: string
  readonly cniConfig: string
  /** Images and snapshots: survives a reboot. */
  readonly root: string
  readonly log: string
  /** Archives that are imported at start. */
  readonly images: string
  /** Running containers: gone after a reboot, as they are. */
  readonly state: string
  readonly socket: string
  /**
   * The pod addresses that are taken. In the run folder, so that none outlives the pods of a host that was switched
   * off.
   */
  readonly cniAddresses: string
}

/** @param dataDir /var/lib/k3ts by default
 *  @param runDir short: the path of a unix socket has at most 107 bytes */
export function containerdPaths(dataDir: string, runDir = "/run/k3ts"): ContainerdPaths {
  const agent = join(dataDir, "agent")
  return {
    config: join(agent, "etc/containerd/config.toml"),
    registries: join(agent, "etc/containerd/certs.d"),
    cniConfig: join(agent, "etc/cni/net.d"),
    root: join(agent, "containerd"),
    log: join(agent, "containerd/containerd.log"),
    images: join(agent, "images"),
    state: join(runDir, "containerd"),
    socket: join(runDir, "containerd/containerd.sock"),
    cniAddresses: join(runDir, "cni/networks"),
  }
}
