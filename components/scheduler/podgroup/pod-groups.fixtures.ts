/** Clusters with PodGroups, gangs and their pods. */
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import type { FeatureName } from "../../../pkg/component/features.ts"
import { startCluster, type Cluster } from "../../cluster/testing/cluster.ts"
import type { ClusterOptions } from "../../cluster/testing/options/options.ts"

/** Starts a cluster that serves PodGroups, with nodes of 2 CPUs unless given, and with further gates on. */
export const clusterWithGroups = (
  nodes: ClusterOptions["nodes"] = 2,
  gates: readonly FeatureName[] = ["GangScheduling"],
  more: Partial<ClusterOptions> = {},
): Promise<Cluster> =>
  startCluster({
    nodes,
    features: { GenericWorkload: true, ...Object.fromEntries(gates.map((gate) => [gate, true])) },
    runtimeConfig: ["scheduling.k8s.io/v1alpha2=true"],
    ...more,
  })

/** Creates a gang. */
export const gang = (cluster: Cluster, name: string, minCount: number, spec: object = {}): Promise<PodGroup> =>
  cluster.client.create(PodGroup, {
    metadata: { namespace: "default", name },
    spec: { schedulingPolicy: { gang: { minCount } }, ...spec },
  })

/** Creates pods of a group: `<group>-0` and so on, from `first` on, each with a request of CPU. */
export async function members(
  cluster: Cluster,
  group: string,
  count: number,
  { cpu = "1", first = 0, spec = {} }: { cpu?: string; first?: number; spec?: object } = {},
): Promise<void> {
  for (let i = first; i < first + count; i++)
    await cluster.client.create(Pod, {
      metadata: { namespace: "default", name: `${group}-${i}` },
      spec: {
        schedulingGroup: { podGroupName: group },
        containers: [{ name: "c", image: "x", resources: { requests: { cpu } } }],
        terminationGracePeriodSeconds: 0,
        ...spec,
      },
    })
}

/** Returns the names of the pods of a group that have a node. */
export async function placed(cluster: Cluster, group: string): Promise<readonly string[]> {
  const { items } = await cluster.client.list(Pod, { namespace: "default" })
  return items
    .filter(({ spec }) => spec.schedulingGroup?.podGroupName === group && spec.nodeName)
    .map(({ metadata }) => metadata.name!)
}

/** Returns what the group says about its scheduling. */
export async function verdict(cluster: Cluster, name: string): Promise<string> {
  const { status } = await cluster.client.get(PodGroup, { namespace: "default", name })
  const condition = status.conditions?.find(({ type }) => type === "PodGroupScheduled")
  return condition === undefined ? "none" : `${condition.status} ${condition.reason} ${condition.message}`.trim()
}

/** Returns what a pod says about its scheduling. */
export async function reason(cluster: Cluster, name: string): Promise<string | undefined> {
  const { status } = await cluster.client.get(Pod, { namespace: "default", name })
  return status.conditions?.find(({ type }) => type === "PodScheduled")?.message
}
