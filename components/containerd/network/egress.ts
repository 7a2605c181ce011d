import { writeFileSync } from "node:fs"
import { run } from "../../../pkg/process/run.ts"

/** Our own chains, so that they can be rewritten and removed without touching a rule of anybody else. */
const NAT_CHAIN = "K3TS-EGRESS"
const FILTER_CHAIN = "K3TS-FORWARD"

/**
 * Lets pods out: forwarding is on and allowed for their range, and what leaves the cluster has the node's address,
 * since nobody outside knows the way to a pod. Packets between pods keep their source, as Kubernetes promises. May be
 * called again. Flannel does the same for k3s (pkg/trafficmngr/iptables there).
 */
export async function allowPodEgress(clusterCidr: string): Promise<void> {
  writeFileSync("/proc/sys/net/ipv4/ip_forward", "1")
  await restore([
    "*nat",
    `:${NAT_CHAIN} - [0:0]`,
    `-A ${NAT_CHAIN} ! -s ${clusterCidr} -j RETURN`,
    `-A ${NAT_CHAIN} -d ${clusterCidr} -j RETURN`,
    `-A ${NAT_CHAIN} -d 224.0.0.0/4 -j RETURN`,
    `-A ${NAT_CHAIN} -j MASQUERADE`,
    "COMMIT",
    "*filter",
    `:${FILTER_CHAIN} - [0:0]`,
    `-A ${FILTER_CHAIN} -s ${clusterCidr} -j ACCEPT`,
    `-A ${FILTER_CHAIN} -d ${clusterCidr} -j ACCEPT`,
    "COMMIT",
  ])
  await ensureJump("nat", "POSTROUTING", NAT_CHAIN)
  await ensureJump("filter", "FORWARD", FILTER_CHAIN)
}

/** Takes away what `allowPodEgress` made. Forwarding stays on: others may have come to need it. */
export async function removePodEgress(): Promise<void> {
  for (const [table, parent, chain] of [
    ["nat", "POSTROUTING", NAT_CHAIN],
    ["filter", "FORWARD", FILTER_CHAIN],
  ] as const) {
    for (const args of [
      ["-D", parent, ...jumpTo(chain)],
      ["-F", chain],
      ["-X", chain],
    ]) {
      await run("iptables", ["-w", "-t", table, ...args]).catch(() => undefined) // it is not there
    }
  }
}

const jumpTo = (chain: string) => ["-m", "comment", "--comment", "k3ts pods", "-j", chain]

async function ensureJump(table: string, parent: string, chain: string): Promise<void> {
  try {
    await run("iptables", ["-w", "-t", table, "-C", parent, ...jumpTo(chain)])
  } catch {
    await run("iptables", ["-w", "-t", table, "-A", parent, ...jumpTo(chain)])
  }
}

/** Chains that are named are emptied first, all others stay: `--noflush`. */
async function restore(lines: readonly string[]): Promise<void> {
  await run("iptables-restore", ["-w", "--noflush"], { input: lines.join("\n") + "\n" })
}
