import { describe, expect, test } from "bun:test"
import { parseMountPoints } from "../../../pkg/process/mount-points.ts"
import { judgeCgroups, readCgroups } from "./cgroups.ts"
import type { Finding } from "./finding.ts"
import {
  judgeBridgeFilter,
  judgeCapabilities,
  judgeConntrack,
  judgeForwarding,
  judgeIPv6,
  judgeKernel,
  judgeNamespaces,
  judgeOverlay,
  judgeRoot,
} from "./kernel.ts"
import { judgePropagation, judgeSizes } from "./mounts.ts"
import { judgeMode, judgeNetworkPolicies, judgeNftables, judgeSourceGuard } from "./netfilter.ts"
import { judgeClock, judgeDisk, judgeMemory } from "./resources.ts"
import { judgeRoutes } from "./routes.ts"

const rootWith = (rest: string) => parseMountPoints(`22 1 8:1 / / ${rest}`)[0]
const short = (findings: readonly Finding[]) => findings.map(({ name, status }) => `${status} ${name}`)
const V1 = ["cpu,cpuacct", "cpuset", "devices", "freezer", "memory", "pids", "blkio", "hugetlb"].map(
  (name) => `cgroup /sys/fs/cgroup/${name} cgroup rw,nosuid,${name} 0 0`,
)

describe("cgroups", () => {
  test("v2 is recognized by its cgroup.controllers file", () => {
    const cgroups = readCgroups("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0", "cpuset cpu io memory hugetlb pids rdma\n")
    expect(cgroups).toEqual({
      version: "v2",
      controllers: ["cpuset", "cpu", "io", "memory", "hugetlb", "pids", "rdma"],
    })
    expect(judgeCgroups(cgroups).every(({ status }) => status === "found")).toBe(true)
  })

  test("v1 with an empty v2 hierarchy is hybrid", () => {
    const cgroups = readCgroups([...V1, "none /sys/fs/cgroup/unified cgroup2 rw 0 0"].join("\n"), undefined)
    expect(cgroups.version).toBe("hybrid")
    expect(judgeCgroups(cgroups)[0]?.detail).toBe("v1, with an empty v2 hierarchy beside it (hybrid)")
    expect(judgeCgroups(cgroups).every(({ status }) => status === "found")).toBe(true)
  })

  test("each missing controller is reported, with what to do", () => {
    // A Raspberry Pi's kernel leaves the memory controller off.
    const findings = judgeCgroups(readCgroups("", "cpuset cpu io pids"))
    expect(short(findings)).toEqual([
      "found cgroups",
      "found cgroup cpu",
      "found cgroup cpuset",
      "missing cgroup memory",
      "found cgroup pids",
      "found cgroup io",
      "warning cgroup hugetlb",
    ])
    expect(findings[3]?.mend).toBe("start the kernel with cgroup_enable=memory cgroup_memory=1")
    expect(
      short(judgeCgroups(readCgroups(V1.filter((line) => !/pids|freezer/.test(line)).join("\n"), undefined))).filter(
        (line) => !line.startsWith("found"),
      ),
    ).toEqual(["missing cgroup freezer", "warning cgroup pids"])
  })

  test("a missing hierarchy is one finding", () =>
    expect(short(judgeCgroups(readCgroups("proc /proc proc rw 0 0", undefined)))).toEqual(["missing cgroups"]))
})

describe("single requirements", () => {
  test.each<[string, Finding | readonly Finding[], string]>([
    ["a new kernel", judgeKernel("6.1.0-18-amd64"), "found kernel"],
    ["the oldest kernel", judgeKernel("4.19.0"), "found kernel"],
    ["an old kernel", judgeKernel("4.18.20"), "warning kernel"],
    ["root", judgeRoot(0), "found root"],
    ["another user", judgeRoot(1000), "missing root"],
    ["overlayfs", judgeOverlay("nodev\tproc\nnodev\toverlay\n", false), "found overlayfs"],
    ["overlayfs as a module", judgeOverlay("nodev\tproc\n", true), "found overlayfs"],
    ["no overlayfs", judgeOverlay("nodev\tproc\n", false), "warning overlayfs"],
    ["the bridge's filter", judgeBridgeFilter("1", false), "found bridge-nf-call-iptables"],
    ["the bridge's filter, off", judgeBridgeFilter("0", false), "found bridge-nf-call-iptables"],
    ["no bridge's filter", judgeBridgeFilter(undefined, false), "warning bridge-nf-call-iptables"],
    ["forwarding", judgeForwarding("0"), "found ip_forward"],
    ["no IPv4", judgeForwarding(undefined), "missing ip_forward"],
    ["IPv6", judgeIPv6("0"), "found IPv6"],
    ["IPv6 that is switched off", judgeIPv6("1"), "missing IPv6"],
    ["a kernel without IPv6", judgeIPv6(undefined), "missing IPv6"],
    ["connection tracking", judgeConntrack("262144", false), "found nf_conntrack"],
    ["no connection tracking", judgeConntrack(undefined, false), "missing nf_conntrack"],
    ["namespaces", judgeNamespaces(() => true), "found namespaces"],
    ["a missing namespace", judgeNamespaces((name) => name !== "pid"), "missing namespaces"],
    ["iptables on nftables", judgeMode("iptables v1.8.9 (nf_tables)\n"), "found iptables mode"],
    ["iptables that does not run", judgeMode(""), "missing iptables mode"],
    ["network policies", judgeNetworkPolicies(undefined), "found network policies"],
    ["network policies without nft", judgeNetworkPolicies("nft is not on the PATH"), "warning network policies"],
    ["sources of pods", judgeSourceGuard(undefined), "found sources of pods"],
    ["sources of pods without nft", judgeSourceGuard("nft is not there"), "warning sources of pods"],
    ["nftables", judgeNftables({ usable: true, version: "1.0.6" }), "found nftables"],
    ["no nftables", judgeNftables({ usable: false, reason: "old", mend: "a new one" }), "warning nftables"],
    ["a full disk", judgeDisk("/var/lib/k3ts", 1e6), "missing disk"],
    ["a small disk", judgeDisk("/var/lib/k3ts", 1e9), "warning disk"],
    ["a disk", judgeDisk("/var/lib/k3ts", 1e10), "found disk"],
    ["a shared root", judgePropagation(rootWith("rw shared:1 - ext4 /dev/sda rw")), "found mount propagation"],
    ["a private root", judgePropagation(rootWith("rw - ext4 /dev/sda rw")), "warning mount propagation"],
    ["project quota", judgeSizes(rootWith("rw - xfs /dev/sda rw,prjquota")), "found sizes of volumes"],
    ["no project quota", judgeSizes(rootWith("rw - ext4 /dev/sda rw")), "warning sizes of volumes"],
    ["memory", judgeMemory("MemTotal:       24000000 kB\nMemFree: 1 kB"), "found memory"],
    ["little memory", judgeMemory("MemTotal:         262144 kB\n"), "warning memory"],
    [
      "a default route",
      judgeRoutes(["IPv4"], "Iface Destination\neth0 00000000 0202000A\n", ""),
      "found default route for IPv4",
    ],
    [
      "no default route",
      judgeRoutes(["IPv4"], "Iface Destination\neth0 0002000A 00000000\n", ""),
      "warning default route for IPv4",
    ],
    [
      "no table of IPv6",
      judgeRoutes(["IPv6"], "Iface Destination\neth0 00000000 0202000A\n", ""),
      "warning default route for IPv6",
    ],
    ["a clock", judgeClock(Date.parse("2026-01-01"), Date.parse("2025-01-01")), "found clock"],
    ["a clock that is behind", judgeClock(0, Date.parse("2025-01-01")), "missing clock"],
  ])("%s", (_, finding, expected) => expect(short([finding].flat())).toEqual([expected]))

  test("capabilities are read from their bits", () => {
    expect(short(judgeCapabilities("CapEff:\t000001ffffffffff\n"))).toEqual([
      "found CAP_SYS_ADMIN",
      "found CAP_NET_ADMIN",
      "found CAP_SYS_RESOURCE",
    ])
    expect(short(judgeCapabilities("CapEff:\t000001fffeffffff\n"))).toEqual([
      "found CAP_SYS_ADMIN",
      "found CAP_NET_ADMIN",
      "warning CAP_SYS_RESOURCE",
    ])
    expect(short(judgeCapabilities("CapEff:\t0000000000000000\n"))).toEqual([
      "missing CAP_SYS_ADMIN",
      "missing CAP_NET_ADMIN",
      "warning CAP_SYS_RESOURCE",
    ])
  })

  test("every requirement that is not met says what to do", () => {
    for (const finding of [judgeRoot(1), judgeKernel("3.10"), judgeDisk("/", 0), judgeConntrack(undefined, false)])
      expect(finding.mend).toBeTruthy()
  })
})
