import type { Change } from "../../../../components/cluster/testing/forecast/forecast.ts"
import type { Cluster } from "../../../../components/cluster/testing/cluster.ts"

/** How long a node is taken to be away while its kubelet is replaced. */
export const AWAY = "1m"
/** When a drain gives up that budgets hold up. */
const DRAIN = ["--ignore-daemonsets", "--delete-emptydir-data", "--timeout=4m"]

/** Returns the change of an upgrade: each node's kubelet restarts, one after the other, with a drain before or without. */
export const nodesInTurn =
  (drains: boolean): Change =>
  async (cluster) => {
    for (const node of cluster.nodes) {
      const problem = await upgraded(cluster, node, drains)
      if (problem !== undefined) return { code: 1, output: `node ${node} is not drained: ${problem}` }
    }
    return { code: 0, output: "" }
  }

/** Upgrades one node; returns why it could not be drained, if so. */
async function upgraded(cluster: Cluster, node: string, drains: boolean): Promise<string | undefined> {
  const cordoned = await cluster.kubectl(["get", "node", node, "-o=jsonpath={.spec.unschedulable}"])
  if (drains) {
    const { code, stderr } = await cluster.kubectl(["drain", node, ...DRAIN])
    if (code !== 0) return stderr.trim().split("\n").at(-1) ?? ""
  }
  const away = await cluster.faults.crashed({ kubelet: node })
  await cluster.advance(AWAY)
  await away.end()
  if (drains && cordoned.stdout !== "true") await cluster.kubectl(["uncordon", node])
  await cluster.advance("10s")
  return undefined
}
