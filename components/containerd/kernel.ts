import { existsSync, readFileSync, writeFileSync } from "node:fs"
import type { Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { run } from "../../pkg/process/run.ts"

const BRIDGE_FILTER: Readonly<Record<Family, string>> = {
  IPv4: "/proc/sys/net/bridge/bridge-nf-call-iptables",
  IPv6: "/proc/sys/net/bridge/bridge-nf-call-ip6tables",
}
/** Kernel modules that are not loaded automatically. Source: k3s pkg/agent/syssetup. */
const MODULES: readonly (readonly [name: string, there: string])[] = [
  ["br_netfilter", BRIDGE_FILTER.IPv4],
  ["overlay", "/sys/module/overlay"],
  ["nf_conntrack", "/proc/sys/net/netfilter/nf_conntrack_max"],
]

/** Lets packets between pods on one bridge pass iptables again where another program has changed that. */
export function keepBridgeFilter(families: readonly Family[]): void {
  for (const path of families.map((family) => BRIDGE_FILTER[family]))
    if (existsSync(path) && readFileSync(path, "utf8").trim() !== "1") writeFileSync(path, "1")
}

/**
 * Prepares the kernel for pods: packets between pods on one bridge must pass iptables, else the responses of a
 * Service's pod on the same node are not translated back.
 */
export async function prepareKernel(families: readonly Family[], log: Logger): Promise<void> {
  const lacking = MODULES.filter(([, there]) => !existsSync(there)).map(([name]) => name)
  await Promise.all(
    lacking.map((name) =>
      run("modprobe", [name]).catch((err: unknown) =>
        log.debug("Failed to load a kernel module", { module: name, err }),
      ),
    ),
  )
  for (const path of families.map((family) => BRIDGE_FILTER[family]))
    try {
      writeFileSync(path, "1")
    } catch (err) {
      log.warn(
        "Cannot let iptables see traffic between pods: a pod will not reach a Service whose pod is on the same node",
        { path, err },
      )
    }
}
