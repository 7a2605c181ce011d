import { dirname, join } from "node:path"
import type { HostFacts } from "./host.ts"
import type { CgroupDriver } from "../../pkg/cri/cgroup-driver.ts"
import type { ContainerdPaths } from "./paths.ts"
import type { Credentials } from "./registries/hosts.ts"
import { toml } from "./toml.ts"

export interface ConfigOptions {
  readonly paths: ContainerdPaths
  readonly host: HostFacts
  readonly pauseImage: string
  readonly cgroupDriver: CgroupDriver
  /** Credentials of registries; none by default. */
  readonly credentials?: Credentials
}

/**
 * The longest line in a container's log, in bytes; longer ones are written in parts. It is containerd's default, and
 * set explicitly since the log reader relies on it.
 */
const MAX_LOG_LINE = 16_384

/**
 * Returns containerd's configuration: version 2 for 1.x, version 3 for 2.x. Settings that are not named keep their
 * defaults. Source: containerd docs/cri/config.md.
 */
export function containerdConfig({ paths, host, pauseImage, cgroupDriver, credentials = {} }: ConfigOptions): string {
  const runtime = {
    disable_apparmor: !host.hasAppArmor,
    restrict_oom_score_adj: !host.mayLowerOomScore,
    max_container_log_line_size: MAX_LOG_LINE,
    // The default is /var/run/netns, where they could not be told apart from others at a clean-up.
    netns_mounts_under_state_dir: true,
    // Ports under 1024 and ping need no privilege, since containers have their own network namespaces. containerd 2's
    // default.
    enable_unprivileged_ports: true,
    enable_unprivileged_icmp: true,
  }
  const cni = { bin_dir: host.cniBinDir, conf_dir: paths.cniConfig, max_conf_num: 1 }
  const runc = {
    runtime_type: "io.containerd.runc.v2",
    // Root is the folder of runc's state; by default all containerds share /run/containerd/runc.
    options: { SystemdCgroup: cgroupDriver === "systemd", Root: join(paths.state, "runc") },
  }
  // The address for exec, attach and port-forward, to which only the kubelet connects.
  const streaming = { stream_server_address: "127.0.0.1", stream_server_port: "0" }
  const registry = { config_path: paths.registries, configs: credentials }

  const common = {
    root: paths.root,
    state: paths.state,
    // k3s's value: when memory runs out, the kernel should kill processes of pods before containerd.
    oom_score: host.mayLowerOomScore ? -999 : 0,
    // Snapshotters that are not used, each of which inspects the disk at start. containerd ignores unknown names.
    disabled_plugins: ["aufs", "btrfs", "devmapper", "zfs"].map((name) => `io.containerd.snapshotter.v1.${name}`),
    grpc: { address: paths.socket },
  }
  // The default is /opt/containerd, which containerd would create.
  const opt = { path: join(paths.root, "opt") }

  if (host.major < 2) {
    return toml({
      version: 2,
      ...common,
      plugins: {
        "io.containerd.internal.v1.opt": opt,
        "io.containerd.grpc.v1.cri": {
          sandbox_image: pauseImage,
          ...runtime,
          ...streaming,
          // Allows devices of resource claims. containerd 2's default; versions before 1.7 do not know the setting.
          enable_cdi: true,
          cni,
          containerd: { snapshotter: host.snapshotter, default_runtime_name: "runc", runtimes: { runc } },
          registry,
        },
      },
    })
  }
  return toml({
    version: 3,
    ...common,
    plugins: {
      "io.containerd.internal.v1.opt": opt,
      "io.containerd.cri.v1.images": {
        snapshotter: host.snapshotter,
        pinned_images: { sandbox: pauseImage },
        registry,
      },
      "io.containerd.cri.v1.runtime": {
        ...runtime,
        cni,
        containerd: { default_runtime_name: "runc", runtimes: { runc } },
      },
      "io.containerd.grpc.v1.cri": streaming,
    },
  })
}

/** Returns the folders that must exist before containerd starts. */
export const foldersOf = (paths: ContainerdPaths): string[] => [
  dirname(paths.config),
  paths.registries,
  paths.cniConfig,
  paths.root,
  paths.images,
  paths.state,
  paths.cniAddresses,
]
