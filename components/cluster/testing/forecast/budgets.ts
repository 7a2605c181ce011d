import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { PodDisruptionBudget } from "../../../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { fromLabelSelector } from "../../../../pkg/apimachinery/selectors/labels.ts"
import type { Cluster } from "../cluster.ts"

/** A PodDisruptionBudget that keeps pods on a node that is to be empty. */
export interface StuckBudget {
  readonly namespace: string
  readonly name: string
  readonly node: string
  /** Pods that it keeps there. */
  readonly pods: number
  readonly desiredHealthy: number
  readonly currentHealthy: number
}

/** Returns the names of nodes that take no new pods. */
export async function cordonedNodes(cluster: Cluster): Promise<ReadonlySet<string>> {
  const nodes = await cluster.list(Node)
  return new Set(nodes.filter(({ spec }) => spec.unschedulable === true).map(({ metadata }) => metadata.name!))
}

/** Returns the budgets that allow no eviction of the pods on nodes that were cordoned since `before`. */
export async function stuckBudgets(
  cluster: Cluster,
  before: ReadonlySet<string>,
  pods: readonly Pod[],
): Promise<readonly StuckBudget[]> {
  const nodes = [...(await cordonedNodes(cluster))].filter((name) => !before.has(name))
  if (nodes.length === 0) return []
  const budgets = (await cluster.list(PodDisruptionBudget)).filter(({ status }) => status.disruptionsAllowed === 0)
  return budgets.flatMap(({ metadata: { namespace = "", name = "" }, spec, status }) => {
    const selector = fromLabelSelector(spec.selector)
    const covered = pods.filter(
      ({ metadata }) =>
        metadata.namespace === namespace &&
        metadata.deletionTimestamp === undefined &&
        selector.matches(metadata.labels ?? {}),
    )
    return nodes.flatMap((node) => {
      const there = covered.filter((pod) => pod.spec.nodeName === node)
      const { desiredHealthy, currentHealthy } = status
      return there.length === 0 ? [] : [{ namespace, name, node, pods: there.length, desiredHealthy, currentHealthy }]
    })
  })
}
