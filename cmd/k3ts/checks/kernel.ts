import { existsSync, readFileSync } from "node:fs"
import { release } from "node:os"
import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { found, missing, warning, type Finding } from "./finding.ts"
import { onPath, run } from "./programs.ts"

/** Source: kubeadm's system validators (kernel_validator.go). */
const OLDEST_KERNEL = [4, 19] as const

export function judgeKernel(version: string): Finding {
  const [major = 0, minor = 0] = version.split(/[.-]/).map(Number)
  const [oldMajor, oldMinor] = OLDEST_KERNEL
  const fine = major > oldMajor || (major === oldMajor && minor >= oldMinor)
  return fine
    ? found("kernel", version)
    : warning(
        "kernel",
        `${version} is older than ${oldMajor}.${oldMinor}`,
        `boot a kernel of ${oldMajor}.${oldMinor} or later`,
      )
}

export function judgeRoot(uid: number | undefined): Finding {
  return uid === 0
    ? found("root", "running as root")
    : missing(
        "root",
        `running as user ${uid ?? "?"}`,
        "run it as root: sudo k3ts server. Without a node (--disable-agent) any user will do",
      )
}

/** Capabilities by the number of their bit. Source: linux/capability.h. */
const CAPABILITIES = { CAP_NET_ADMIN: 12, CAP_SYS_ADMIN: 21, CAP_SYS_RESOURCE: 24 } as const

/** @param status /proc/self/status */
export function judgeCapabilities(status: string): Finding[] {
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`)
  const has = (name: keyof typeof CAPABILITIES) => ((effective >> BigInt(CAPABILITIES[name])) & 1n) === 1n
  const needed = (name: keyof typeof CAPABILITIES, what: string) =>
    has(name)
      ? found(name, "there")
      : missing(name, `${what} is not allowed`, `give k3ts ${name}: in a container, run it privileged`)
  return [
    needed("CAP_SYS_ADMIN", "mounting"),
    needed("CAP_NET_ADMIN", "setting up networks"),
    has("CAP_SYS_RESOURCE")
      ? found("CAP_SYS_RESOURCE", "there")
      : warning(
          "CAP_SYS_RESOURCE",
          "missing: when memory is short, the kernel may end the runtime before a pod",
          "give k3ts CAP_SYS_RESOURCE; it works without",
        ),
  ]
}

/** @param filesystems /proc/filesystems */
export const judgeOverlay = (filesystems: string, loadable: boolean): Finding =>
  /\toverlay$/m.test(filesystems)
    ? found("overlayfs", "there")
    : loadable
      ? found("overlayfs", "a module, loaded when needed")
      : warning(
          "overlayfs",
          "the kernel has none: each container gets a copy of its image",
          "start a kernel with CONFIG_OVERLAY_FS",
        )

export const judgeBridgeFilter = (setting: string | undefined, loadable: boolean): Finding =>
  setting === "1"
    ? found("bridge-nf-call-iptables", "on")
    : setting !== undefined || loadable
      ? found(
          "bridge-nf-call-iptables",
          `${setting === undefined ? "br_netfilter is not loaded" : "off"}; k3ts server turns it on`,
        )
      : warning(
          "bridge-nf-call-iptables",
          "the kernel has no br_netfilter: a pod does not reach a Service whose pod is on the same node",
          "modprobe br_netfilter, or start a kernel with CONFIG_BRIDGE_NETFILTER",
        )

export const judgeForwarding = (setting: string | undefined): Finding =>
  setting === undefined
    ? missing("ip_forward", "/proc/sys/net/ipv4/ip_forward is not there", "start a kernel with CONFIG_INET")
    : found("ip_forward", setting === "1" ? "on" : "off; k3ts server turns it on")

/** `disabled` is /proc/sys/net/ipv6/conf/all/disable_ipv6; undefined where the kernel has no IPv6. */
export const judgeIPv6 = (disabled: string | undefined): Finding =>
  disabled === undefined
    ? missing("IPv6", "the kernel has none", "boot without ipv6.disable=1, or a kernel with CONFIG_IPV6")
    : disabled === "1"
      ? missing("IPv6", "it is switched off", "sysctl -w net.ipv6.conf.all.disable_ipv6=0")
      : found("IPv6", "there")

export const checkIPv6 = (families: readonly Family[]): readonly Finding[] =>
  families.includes("IPv6") ? [judgeIPv6(setting("/proc/sys/net/ipv6/conf/all/disable_ipv6"))] : []

export const judgeConntrack = (max: string | undefined, loadable: boolean): Finding =>
  max !== undefined
    ? found("nf_conntrack", `up to ${max} connections`)
    : loadable
      ? found("nf_conntrack", "a module, loaded when needed")
      : missing(
          "nf_conntrack",
          "the kernel does not track connections",
          "modprobe nf_conntrack, or start a kernel with CONFIG_NF_CONNTRACK",
        )

const NAMESPACES = ["ipc", "mnt", "net", "pid", "uts"] as const
export const judgeNamespaces = (has: (name: string) => boolean): Finding => {
  const lacking = NAMESPACES.filter((name) => !has(name))
  return lacking.length === 0
    ? found("namespaces", NAMESPACES.join(", "))
    : missing("namespaces", `the kernel lacks ${lacking.join(", ")}`, "start a kernel with CONFIG_NAMESPACES")
}

export async function checkKernel(families: readonly Family[]): Promise<Finding[]> {
  const [overlay, bridge, conntrack] = await Promise.all(["overlay", "br_netfilter", "nf_conntrack"].map(isLoadable))
  return [
    judgeKernel(release()),
    ...judgeCapabilities(readFileSync("/proc/self/status", "utf8")),
    judgeNamespaces((name) => existsSync(`/proc/self/ns/${name}`)),
    judgeOverlay(readFileSync("/proc/filesystems", "utf8"), overlay!),
    judgeBridgeFilter(setting("/proc/sys/net/bridge/bridge-nf-call-iptables"), bridge!),
    judgeForwarding(setting("/proc/sys/net/ipv4/ip_forward")),
    ...checkIPv6(families),
    judgeConntrack(setting("/proc/sys/net/netfilter/nf_conntrack_max"), conntrack!),
  ]
}

function setting(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim()
  } catch {
    return undefined
  }
}

/** Whether the kernel has such a module; it is not loaded. */
async function isLoadable(module: string): Promise<boolean> {
  if (onPath("modprobe") === undefined) return false
  return run("modprobe", ["--dry-run", "--quiet", module]).then(
    () => true,
    () => false,
  )
}
