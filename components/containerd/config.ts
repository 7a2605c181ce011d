import { dirname, join } from "node:path"
import type { HostFacts } from "./host.ts"
import type { CgroupDriver } from "../../pkg/cri/cgroup-driver.ts"
import type { ContainerdPaths } from "./paths.ts"
import { toml } from "./toml.ts"

export interface ConfigOptions {
  readonly paths: ContainerdPaths
  readonly host: HostFacts
  readonly pauseImage: string
  readonly cgroupDriver: CgroupDriver
}

/**
 * The limit of a line in a container's log; longer ones are written in parts. containerd's default, said because the
 * log reader relies on it.
 */
const MAX_LOG_LINE = 16_384

/**
 * containerd's configuration: version 2 for 1.x, version 3 for 2.x. Source: containerd docs/cri/config.md.
 * What is not named keeps its default.
 */
export function containerdConfig({ paths, host, pauseImage, cgroupDriver }: ConfigOptions): string {
  const runtime = {
    disable_apparmor: !host.hasAppArmor,
    restrict_oom_score_adj: !host.mayLowerOomScore,
    max_container_log_line_size: MAX_LOG_LINE,
    // Else they lie in /var/run/netns, among those of others, and could not be told apart at a clean-up.
    netns_mounts_under_state_dir: true,
    // Containers are in a network namespace of their own, so ports under 1024 and ping need no privilege. containerd
    // 2's default.
    enable_unprivileged_ports: true,
    enable_unprivileged_icmp: true,
  }
  const cni = { bin_dir: host.cniBinDir, conf_dir: paths.cniConfig, max_conf_num: 1 }
  const runc = {
    runtime_type: "io.containerd.runc.v2",
    // Root: runc's own state, by default in /run/containerd/runc with that of every containerd.
    options: { SystemdCgroup: cgroupDriver === "systemd", Root: join(paths.state, "runc") },
  }
  // exec, attach and port-forward: the kubelet fetches them here and serves them itself.
  const streaming = { stream_server_address: "127.0.0.1", stream_server_port: "0" }
  const registry = { config_path: paths.registries }

  const common = {
    root: paths.root,
    state: paths.state,
    // k3s' value: the kernel should take a pod's memory before the runtime's.
    oom_score: host.mayLowerOomScore ? -999 : 0,
    // Snapshotters we never use, each of which looks at the disk at start. Unknown names do no harm.
    disabled_plugins: ["aufs", "btrfs", "devmapper", "zfs"].map((name) => `io.containerd.snapshotter.v1.${name}`),
    grpc: { address: paths.socket },
  }
  // Its default is /opt/containerd, which it creates.
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
          // Devices of claims. containerd 2's default, and unknown before 1.7.
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

/** The folders that must be there before containerd starts. */
export const foldersOf = (paths: ContainerdPaths): string[] => [
  dirname(paths.config),
  paths.registries,
  paths.cniConfig,
  paths.root,
  paths.images,
  paths.state,
  paths.cniAddresses,
]
