import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Cluster } from "../../../components/cluster/testing/cluster.ts"
import type { ClusterOptions } from "../../../components/cluster/testing/options/options.ts"

/** A cluster, or several, beside which the command runs. */
export interface Beside {
  /** What the command gets. */
  readonly variables: Readonly<Record<string, string>> & { readonly KUBECONFIG: string }
  stop(): Promise<void>
}

/** Serves a cluster alone. */
export async function alone(cluster: Cluster, folder: string): Promise<Beside> {
  const kubeconfig = join(folder, "kubeconfig.yaml")
  writeFileSync(kubeconfig, (await cluster.listen()).kubeconfig, { mode: 0o600 })
  return { variables: { KUBECONFIG: kubeconfig }, stop: () => cluster.stop() }
}

/** Serves a cluster with a channel that moves its time and makes it fail. */
export async function controlled(cluster: Cluster, folder: string, options: ClusterOptions): Promise<Beside> {
  const { ControlledClusters } = await import("./controlled-clusters.ts")
  const clusters = new ControlledClusters(folder, options)
  const kubeconfig = await clusters.start(cluster)
  const { url, token } = clusters
  return {
    variables: { KUBECONFIG: kubeconfig, K3TS_CONTROL_URL: url, K3TS_CONTROL_TOKEN: token },
    stop: () => clusters.stop(),
  }
}
