import { describe, expect, test } from "bun:test"
import { containerdConfig } from "./config.ts"
import { hasSysResource, parseVersion, type HostFacts } from "./host.ts"
import { containerdPaths } from "./paths.ts"

const paths = containerdPaths("/var/lib/k3ts")
const host: HostFacts = {
  version: "1.7.2",
  major: 1,
  cniBinDir: "/opt/cni/bin",
  snapshotter: "overlayfs",
  mayLowerOomScore: true,
  hasAppArmor: true,
}
const configOf = (facts: Partial<HostFacts>, cgroupDriver: "cgroupfs" | "systemd" = "cgroupfs") =>
  // Parses the configuration with Bun's TOML parser, in place of containerd's.
  Bun.TOML.parse(
    containerdConfig({ paths, host: { ...host, ...facts }, pauseImage: "k3ts.local/pause:1", cgroupDriver }),
  ) as {
    version: number
    root: string
    state: string
    oom_score: number
    grpc: { address: string }
    plugins: Record<string, unknown>
  }

describe("containerdConfig", () => {
  test("for containerd 1 has version 2 and one CRI plugin", () => {
    const config = configOf({})
    expect(config).toMatchObject({
      version: 2,
      root: "/var/lib/k3ts/agent/containerd",
      state: "/run/k3ts/containerd",
      oom_score: -999,
      grpc: { address: "/run/k3ts/containerd/containerd.sock" },
    })
    expect(config.plugins["io.containerd.grpc.v1.cri"]).toMatchObject({
      sandbox_image: "k3ts.local/pause:1",
      restrict_oom_score_adj: false,
      disable_apparmor: false,
      enable_cdi: true,
      cni: { bin_dir: "/opt/cni/bin", conf_dir: "/var/lib/k3ts/agent/etc/cni/net.d" },
      containerd: {
        snapshotter: "overlayfs",
        runtimes: { runc: { runtime_type: "io.containerd.runc.v2", options: { SystemdCgroup: false } } },
      },
      registry: { config_path: "/var/lib/k3ts/agent/etc/containerd/certs.d" },
    })
  })

  test("for containerd 2 has version 3 and separate plugins for images and runtime", () => {
    const { version, plugins } = configOf({ major: 2 }, "systemd")
    expect(version).toBe(3)
    expect(plugins["io.containerd.cri.v1.images"]).toMatchObject({
      snapshotter: "overlayfs",
      pinned_images: { sandbox: "k3ts.local/pause:1" },
    })
    expect(plugins["io.containerd.cri.v1.runtime"]).toMatchObject({
      cni: { bin_dir: "/opt/cni/bin" },
      containerd: { runtimes: { runc: { options: { SystemdCgroup: true } } } },
    })
    expect(plugins["io.containerd.grpc.v1.cri"]).toMatchObject({ stream_server_address: "127.0.0.1" })
  })

  test("leaves out settings that the host does not permit", () => {
    const config = configOf({ mayLowerOomScore: false, hasAppArmor: false, snapshotter: "native" })
    expect(config.oom_score).toBe(0)
    expect(config.plugins["io.containerd.grpc.v1.cri"]).toMatchObject({
      restrict_oom_score_adj: true,
      disable_apparmor: true,
      containerd: { snapshotter: "native" },
    })
  })
})

test.each([
  ["containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3\n", "1.6.20~ds1"],
  ["containerd github.com/containerd/containerd v1.7.2 0cae528dd6cb557f7201036e9f43420650207b58\n", "1.7.2"],
  ["containerd github.com/containerd/containerd/v2 v2.1.4 75cb2b7193e4e490e9fbdc236c0e811ccaba3376\n", "2.1.4"],
])("parseVersion reads %p", (output, version) => {
  expect(parseVersion(output)).toBe(version)
})

test.each([
  ["CapEff:\t000001ffffffffff", true],
  ["CapEff:\t000001fffeffffff", false],
  ["CapInh:\t000001ffffffffff", false],
])("hasSysResource of %p is %p", (status, expected) => {
  expect(hasSysResource(`Name:\tx\n${status}\nSeccomp:\t0\n`)).toBe(expected)
})
