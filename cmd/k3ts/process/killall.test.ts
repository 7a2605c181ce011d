import { describe, expect, test } from "bun:test"
import { cniConfig } from "../../../components/containerd/network/cni.ts"
import { mountsBelow } from "../../../components/containerd/tear-down.ts"
import { ownsBridge } from "./killall.ts"

describe("the resources that killall removes", () => {
  const config = cniConfig({ podCidrs: ["10.42.0.0/24"], mtu: 1500 }, "/run/k3ts/cni/networks", "k3ts")
  const both = cniConfig({ podCidrs: ["10.42.0.0/24", "fd42::/64"], mtu: 1500 }, "/run/k3ts/cni/networks", "k3ts")
  test.each<[string, string | undefined, string[], boolean]>([
    ["the bridge cni0 with an address of our IPv4 range", config, ["10.42.0.1"], true],
    ["the bridge cni0 with an address of our IPv6 range", both, ["fd42::1", "fe80::1"], true],
    ["not the bridge of k3s with the same name", config, ["10.99.0.1"], false],
    ["not a bridge without an address", config, [], false],
    ["no bridge if k3ts never wrote a network configuration", undefined, ["10.42.0.1"], false],
  ])("%s", (_, text, addresses, expected) => expect(ownsBridge(text, addresses)).toBe(expected))

  test("mounts are only those below the folders of k3ts, the newest first", () => {
    const mountinfo = [
      "22 1 8:1 / / rw - ext4 /dev/sda1 rw",
      "30 22 0:40 / /var/lib/k3ts/agent/kubelet/pods/a/volumes/x rw - tmpfs tmpfs rw",
      "31 22 0:41 / /var/lib/k3ts-other/agent/kubelet/pods/b rw - tmpfs tmpfs rw",
      "32 22 0:42 / /var/lib/k3ts/agent/kubelet/pods/a/volumes/with\\040blank rw - tmpfs tmpfs rw",
      "33 22 0:43 / /var/lib/k3ts/agent/kubelet rw - ext4 /dev/sdb1 rw",
      "",
    ].join("\n")
    expect(mountsBelow(mountinfo, ["/var/lib/k3ts/agent/kubelet"])).toEqual([
      "/var/lib/k3ts/agent/kubelet/pods/a/volumes/with blank",
      "/var/lib/k3ts/agent/kubelet/pods/a/volumes/x",
    ])
  })
})
