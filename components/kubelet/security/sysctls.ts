import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"

/** Kernel parameters that are namespaced and cannot harm other pods. Source: pkg/kubelet/sysctl/safe_sysctls.go. */
const SAFE = new Set([
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_wmem",
])

/** Names may be separated by slashes or by dots, as in the kernel. */
const normalized = (name: string): string =>
  /^[^.]*\//.test(name) ? name.replace(/[./]/g, (char) => (char === "." ? "/" : ".")) : name

const NONE: Readonly<Record<string, string>> = {}

export function podSysctls(pod: Pod): Readonly<Record<string, string>> {
  const { sysctls = [] } = pod.spec.securityContext
  return sysctls.length === 0 ? NONE : Object.fromEntries(sysctls.map(({ name, value }) => [normalized(name), value]))
}

/** Whether a sysctl has a name, or begins as a name that ends with `*`. */
function matches(pattern: string, name: string): boolean {
  const wanted = normalized(pattern)
  return wanted.endsWith("*") ? name.startsWith(wanted.slice(0, -1)) : name === wanted
}

/**
 * Returns why the pod may not set its sysctls; undefined when it may. `allowed` are those that are not safe. Source:
 * pkg/kubelet/sysctl/allowlist.go.
 */
export function sysctlProblem(pod: Pod, allowed: readonly string[] = []): string | undefined {
  const { hostNetwork, hostIPC } = pod.spec
  for (const name of Object.keys(podSysctls(pod))) {
    if (!SAFE.has(name) && !allowed.some((pattern) => matches(pattern, name)))
      return `forbidden sysctl: "${name}" not allowlisted`
    if (name.startsWith("net.") && hostNetwork === true)
      return `forbidden sysctl: "${name}" not allowed with host Net enabled`
    if (name.startsWith("kernel.") && hostIPC === true)
      return `forbidden sysctl: "${name}" not allowed with host IPC enabled`
  }
  return undefined
}
